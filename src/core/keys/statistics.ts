import type { Context } from '../context.ts'
import type { KeyCount } from '../records.ts'
import { now } from '../times.ts'

/** Milliseconds for which a count is good: counting reads an entry of an index for every key. */
const interval = 10_000

export type KeyState = 'active' | 'inactive' | 'expired'

export interface KeyStatistics {
  keys: { algorithm: string; state: KeyState; count: number }[]
  /** Seconds until the next active key expires; absent where none ever does. */
  nextExpiry?: number
}

/** Counts all keys, at most every 10 seconds; rejects while the store cannot answer. */
export function createKeyStatistics({ store, clock }: Pick<Context, 'store' | 'clock'>) {
  let counts: Promise<KeyCount[]> | undefined
  let countAgainAt = 0
  return async (): Promise<KeyStatistics> => {
    if (counts === undefined || clock.monotonic() >= countAgainAt) {
      counts = store.countKeys(now(clock))
      countAgainAt = clock.monotonic() + interval
    }
    try {
      return census(await counts, clock.now())
    } catch (error) {
      counts = undefined
      throw error
    }
  }
}

function census(counts: KeyCount[], time: number): KeyStatistics {
  const expiries = counts
    .filter((one) => stateOf(one) === 'active')
    .flatMap(({ firstExpiry }) => (firstExpiry === undefined ? [] : [Date.parse(firstExpiry)]))
  const keys = counts.map((one) => ({ ...one, state: stateOf(one) }))
  if (expiries.length === 0) return { keys }
  return { keys, nextExpiry: (Math.min(...expiries) - time) / 1_000 }
}

/** As `isActive` has it: what has expired is not active, whether or not it is switched on. */
function stateOf({ enabled, expired }: KeyCount): KeyState {
  if (!enabled) return 'inactive'
  return expired ? 'expired' : 'active'
}
