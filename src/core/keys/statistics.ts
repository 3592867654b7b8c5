import type { Context } from '../context.ts'
import type { KeyCount } from '../records.ts'
import { now } from '../times.ts'

/** Counting reads an index entry for every key, so it is repeated no sooner than this. */
const recountMs = 60_000

type KeyState = 'active' | 'inactive' | 'expired'

export interface KeyStatistics {
  /** As last counted; empty before the first count. */
  keys: { algorithm: string; state: KeyState; count: number }[]
  /** Seconds until the next active key expires; absent if none does. */
  nextExpiry?: number
  /** Seconds since the last successful count; absent before it. */
  ageSeconds?: number
  /** Whether the last count failed. */
  hasFailed: boolean
}

/** Returns the last counts at once, and counts again in the background. Never throws. */
export function createKeyStatistics({
  store,
  clock,
}: Pick<Context, 'store' | 'clock'>): () => KeyStatistics {
  let counts: KeyCount[] = []
  let countedAt: number | undefined
  let recountAt = Number.NEGATIVE_INFINITY
  let isCounting = false
  let hasFailed = false

  async function count(): Promise<void> {
    const startTime = clock.monotonic()
    isCounting = true
    recountAt = startTime + recountMs
    try {
      counts = await store.countKeys(now(clock))
      countedAt = startTime
      hasFailed = false
    } catch {
      hasFailed = true
      // What failed early has cost little, such as a count before the database was first reached.
      recountAt = startTime + Math.min(recountMs, 10 * (clock.monotonic() - startTime))
    }
    isCounting = false
  }
  return () => {
    if (!isCounting && clock.monotonic() >= recountAt) void count()
    const age =
      countedAt === undefined ? {} : { ageSeconds: (clock.monotonic() - countedAt) / 1_000 }
    return { ...summarize(counts, clock.now()), ...age, hasFailed }
  }
}

function summarize(
  counts: readonly KeyCount[],
  time: number,
): Pick<KeyStatistics, 'keys' | 'nextExpiry'> {
  const expiries = counts
    .filter((count) => stateOf(count) === 'active')
    .flatMap(({ firstExpiry }) => (firstExpiry === undefined ? [] : [Date.parse(firstExpiry)]))
  const keys = counts.map((count) => ({ ...count, state: stateOf(count) }))
  if (expiries.length === 0) return { keys }
  return { keys, nextExpiry: (Math.min(...expiries) - time) / 1_000 }
}

/** Consistent with `isActive`. */
function stateOf({ enabled, expired }: KeyCount): KeyState {
  if (!enabled) return 'inactive'
  return expired ? 'expired' : 'active'
}
