import type { Context } from '../context.ts'
import type { KeyCount } from '../records.ts'
import { now } from '../times.ts'

/** Counting reads an index entry for every key, so the result is reused this long. */
const reuseMs = 10_000

export type KeyState = 'active' | 'inactive' | 'expired'

export interface KeyStatistics {
  keys: { algorithm: string; state: KeyState; count: number }[]
  /** Seconds until the next active key expires; absent if none does. */
  nextExpiry?: number
}

/** Counts all keys, at most every 10 seconds; rejects while the database is unavailable. */
export function createKeyStatistics({ store, clock }: Pick<Context, 'store' | 'clock'>) {
  let counts: Promise<KeyCount[]> | undefined
  let reuseUntil = 0
  return async (): Promise<KeyStatistics> => {
    if (counts === undefined || clock.monotonic() >= reuseUntil) {
      counts = store.countKeys(now(clock))
      reuseUntil = clock.monotonic() + reuseMs
    }
    try {
      return summarize(await counts, clock.now())
    } catch (error) {
      counts = undefined
      throw error
    }
  }
}

function summarize(counts: KeyCount[], time: number): KeyStatistics {
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
