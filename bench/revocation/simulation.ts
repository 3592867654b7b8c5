/** How long verifiers accept a deactivated key, computed from random times instead of measured. */

/** A kind of verifier. All times are in seconds. */
export interface Kind {
  name: string
  /** How long it keeps a key set (docs/verifiers.md); absent: a held request tells it of changes. */
  keeps?: number
  /** It reads the file that a follower writes, this often. */
  readsFile?: number
}

export interface Place {
  name: string
  /** `max-age` of a shared cache in front of the replicas; 0: none. */
  maxAge: number
  /** Time from a replica to the primary and back. */
  toPrimary: number
}

export interface Delays {
  median: number
  p99: number
  slowest: number
}

/** A replica compares a key set with the database this often. */
const replicaChecks = 0.5

/** The heads of all ledgers with waiting requests are read this often. */
const watchInterval = 0.25

/** A check of a key set, and the read of what has changed. */
const roundTrips = 3

/** Random numbers below 1 that depend on the seed alone (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * The seconds from the response to the deactivation until each of `count` verifiers refuses the key.
 * Verifiers and caches refresh their copies at times that do not depend on the change.
 */
export function simulate(
  kind: Kind,
  { maxAge, toPrimary }: Place,
  count: number,
  random: () => number,
): Delays {
  /** The first time from `since` on of something that is done at this interval. */
  const next = (interval: number, since: number) => {
    const first = random() * interval
    return first + Math.max(0, Math.ceil((since - first) / interval)) * interval
  }
  const delays = Array.from({ length: count }, () => {
    const { keeps, readsFile = 0 } = kind
    if (keeps === undefined) {
      const told = random() * watchInterval + roundTrips * toPrimary
      return readsFile === 0 ? told : next(readsFile, told)
    }
    const onReplica = random() * replicaChecks + roundTrips * toPrimary
    // A cache that fetches before the replica knows keeps the old key set for another `max-age`.
    const inCache = maxAge === 0 ? onReplica : next(maxAge, onReplica)
    return next(keeps, inCache)
  }).sort((one, other) => one - other)
  const at = (share: number) => delays[Math.min(count - 1, Math.floor(share * count))] ?? Number.NaN
  return { median: at(0.5), p99: at(0.99), slowest: at(1) }
}
