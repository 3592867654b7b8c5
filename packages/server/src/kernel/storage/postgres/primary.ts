import { setTimeout as delay } from 'node:timers/promises'
import { PubringError } from '../../../errors.ts'
import { storageUnavailable } from '../../faults.ts'
import { faultError, toStorageError } from '../errors.ts'
import { nameOf, type PostgresAddress } from './address.ts'
import { hasNoFreeConnection, withConnectionTimeout } from './errors.ts'
import { NoUsableHost } from './host-failures.ts'
import { type HostPool, openHostPool, type ServerInfo, type Timeline } from './pool.ts'

/** Which server to use: the one that takes writes, or any that responds. */
export type Target = 'primary' | 'any'

/**
 * How long callers wait for a search, from its start; after that they are rejected immediately. While
 * the first probe of a host that takes connections goes on, or the primary has no free connection,
 * they wait for their whole timeout: it is slow or full, but there.
 */
const searchWaitMs = 600

/** Pause between two probes of the hosts, doubled each time. */
const firstPauseMs = 50
const maxPauseMs = 2_000

/** Pause before the next attempt at a server that has no free connection. */
export const fullServerPauseMs = 100

/** How long to use a read-only server before searching again for one that takes writes. */
const readOnlyPauseMs = 1_000

/** How long to wait for the other hosts once one takes writes, since there may be two that do. */
const otherHostsWaitMs = 250

/** The same before any server was in use: a primary that was replaced may answer first. */
const firstOtherHostsWaitMs = 1_000

/** How often to look for a newer primary among the other hosts. */
const watchPauseMs = 2_000

interface Search {
  result: Promise<HostPool>
  /** The result, or the rejection of those who have waited long enough. */
  outcome: Promise<HostPool>
  /** Whether callers are rejected immediately. */
  isAway: boolean
}

export type PrimaryFinder = ReturnType<typeof createPrimaryFinder>

/**
 * Finds the primary among several hosts, and finds it again after a fail-over or a restart. Of two
 * primaries the one on the newer timeline is right: the other was replaced while it was frozen or
 * cut off. Long because all of it depends on the current server and the search for the next one.
 */
export function createPrimaryFinder(address: PostgresAddress, target: Target) {
  const closing = new AbortController()
  const ending = new Set<Promise<void>>()
  let current: HostPool | undefined
  let search: Search | undefined
  let newest: Timeline | undefined
  let isFirst = true
  let lastError: unknown

  function endPool(pool: HostPool): void {
    const ended = pool.end().finally(() => ending.delete(ended))
    ending.add(ended)
  }
  async function probe(onReached: () => void): Promise<HostPool> {
    try {
      const pool = await probeHosts(address, target, {
        discard: endPool,
        onReached,
        otherHostsMs: isFirst ? firstOtherHostsWaitMs : otherHostsWaitMs,
      })
      if (!isNewer(newest, pool.timeline)) return pool
      endPool(pool)
      throw storageUnavailable('The only primary that answers has been replaced by another.')
    } catch (error) {
      lastError = error
      throw error
    }
  }
  function startSearch(): Search {
    lastError = undefined
    let isReached = false
    const onReached = () => {
      isReached = true
    }
    const failure = Promise.withResolvers<void>()
    const isAway = delay(searchWaitMs, undefined, { ref: false })
      .then(() => (isReached ? failure.promise : undefined))
      .then(() => {
        started.isAway = true
        throw noServer(lastError)
      })
    const result = retry(() => probe(onReached), closing.signal, failure.resolve)
    const outcome = Promise.race([result, isAway])
    outcome.catch(() => undefined)
    const started: Search = { result, outcome, isAway: false }
    search = started
    const clear = () => {
      if (search === started) search = undefined
    }
    started.result.then((pool) => {
      clear()
      use(pool)
    }, clear)
    return started
  }
  function use(pool: HostPool): void {
    if (closing.signal.aborted) {
      endPool(pool)
      return
    }
    current = pool
    isFirst = false
    newest = pool.timeline ?? newest
    pool.onLost(() => reportFailure(pool))
    const canBeReplaced = pool.timeline !== undefined && address.hosts.length > 1
    if (canBeReplaced) watchOtherHosts(pool).catch(() => undefined)
    const readOnlyFallback = target === 'primary' && pool.serverInfo.isReadOnly
    if (readOnlyFallback) setTimeout(() => reportFailure(pool), readOnlyPauseMs).unref()
  }
  /** Ends when the server is no longer in use. */
  async function watchOtherHosts(pool: HostPool): Promise<void> {
    const others = { ...address, hosts: address.hosts.filter((host) => host !== pool.host) }
    while (current === pool) {
      await delay(watchPauseMs, undefined, { signal: closing.signal, ref: false })
      const other = await probeHosts(others, target, { discard: endPool }).catch(() => undefined)
      if (other === undefined) continue
      if (current === pool && isNewer(other.timeline, pool.timeline)) {
        use(other)
        endPool(pool)
      } else {
        endPool(other)
      }
    }
  }
  /** Stops using the server and searches for the primary. */
  function reportFailure(pool: HostPool): void {
    if (current !== pool || closing.signal.aborted) return
    current = undefined
    endPool(pool)
    startSearch()
  }

  return {
    /** The pool of the server in use. Rejects with `storage_unavailable` if none is found in time. */
    async current(timeoutMs: number): Promise<HostPool> {
      if (current !== undefined) return current
      const { outcome, isAway } = search ?? startSearch()
      if (isAway) throw noServer(lastError)
      try {
        return await withConnectionTimeout(outcome, timeoutMs)
      } catch (error) {
        throw noServer(lastError ?? error)
      }
    },
    /** The pool of the server in use, if there is one at the moment. */
    inUse: () => current,
    reportFailure,
    async close() {
      closing.abort()
      if (current !== undefined) endPool(current)
      current = undefined
      await search?.result.catch(() => undefined)
      await Promise.all(ending)
    },
  }
}

/** Probes until a probe succeeds or the signal aborts. Reports failures of servers that are away. */
async function retry(
  probe: () => Promise<HostPool>,
  signal: AbortSignal,
  onFailure: () => void,
): Promise<HostPool> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    signal.throwIfAborted()
    const pool = await probe().catch((error) => {
      if (hasNoFreeConnection(error)) pauseMs = fullServerPauseMs
      else onFailure()
    })
    if (pool !== undefined) return pool
    await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal })
  }
}

interface ProbeHooks {
  /** Gets the pools of the hosts that are not picked. */
  discard(pool: HostPool): void
  onReached?(): void
  otherHostsMs?: number
}

/** Connects to all hosts at once and picks one. */
async function probeHosts(
  address: PostgresAddress,
  target: Target,
  { discard, onReached = () => {}, otherHostsMs = otherHostsWaitMs }: ProbeHooks,
): Promise<HostPool> {
  const accepts = (info: ServerInfo) => target === 'any' || !info.isStandby
  const opening = address.hosts.map((host) => openHostPool(address, host, { accepts, onReached }))
  const picked = await pickServer(opening, target, otherHostsMs).catch((errors: unknown[]) => {
    const failed = address.hosts.map((host, at) => ({ host: nameOf(host), error: errors[at] }))
    throw errors.find(hasNoFreeConnection) ?? new NoUsableHost(failed)
  })
  for (const one of opening) {
    one.then(
      (pool) => pool !== picked && discard(pool),
      () => undefined,
    )
  }
  return picked
}

/**
 * Picks the acceptable server on the newest timeline. Otherwise a primary that is read-only
 * (a full disk, maintenance), which can still serve reads. Rejects with the error of each host.
 */
async function pickServer(
  opening: Promise<HostPool>[],
  target: Target,
  otherHostsMs: number,
): Promise<HostPool> {
  const answered: HostPool[] = []
  const acceptable = opening.map(async (one) => {
    const pool = await one
    if (target === 'primary' && pool.serverInfo.isReadOnly) throw faultError('read-only')
    answered.push(pool)
  })
  try {
    await Promise.any(acceptable)
  } catch {
    const all = await Promise.allSettled(opening)
    const readable = all.find((one) => one.status === 'fulfilled')
    if (readable !== undefined) return readable.value
    throw all.map((one) => (one.status === 'rejected' ? one.reason : undefined))
  }
  const others = Promise.allSettled(acceptable)
  await Promise.race([others, delay(otherHostsMs, undefined, { ref: false })])
  return answered.reduce((best, one) => (isNewer(one.timeline, best.timeline) ? one : best))
}

/** Timelines of different clusters, such as those before and after an upgrade, do not compare. */
function isNewer(one: Timeline | undefined, other: Timeline | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.cluster === other.cluster && one.number > other.number
}

/** The cause while no attempt to reach the hosts has ended: none has said yet why it cannot be used. */
export const noAnswer = new Error('no answer')

function noServer(cause: unknown = noAnswer): PubringError {
  const error = toStorageError(cause)
  return error instanceof PubringError ? error : faultError('lost', cause)
}
