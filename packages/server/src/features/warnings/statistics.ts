import { storageUnavailable } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { Census, KeyCount } from '../../kernel/records.ts'
import { oneFor } from '../../kernel/shared.ts'
import { now } from '../../kernel/values/times.ts'

/** Counting reads an index entry for every key, so it is repeated no sooner than this. */
const recountMs = 60_000

/** Older censuses are not the present state. */
const maxAgeMs = 2 * recountMs

type KeyState = 'active' | 'inactive' | 'expired'

interface KeyFigures {
  /** As last counted; empty before the first census. */
  keys: { algorithm: string; state: KeyState; count: number }[]
  warnings: Census['warnings']
  /** Seconds until the next active key expires; absent if none does. */
  nextExpiry?: number
  /** Seconds since the last census; absent before it. */
  ageSeconds?: number
  /** Whether the last census failed. */
  hasFailed: boolean
}

/** Counts the registry. Each use takes another census in the background, if it is time. */
export const keyStatisticsOf = oneFor(({ store, clock }: Kernel) => {
  let last: Census | undefined
  let countedAt: number | undefined
  let recountAt = Number.NEGATIVE_INFINITY
  let counting: Promise<Census> | undefined
  let hasFailed = false

  async function count(): Promise<Census> {
    const startTime = clock.monotonic()
    recountAt = startTime + recountMs
    try {
      last = await store.census(now(clock))
      countedAt = startTime
      hasFailed = false
      return last
    } catch (error) {
      hasFailed = true
      // A count that failed early has cost little, as before the database was first reached.
      recountAt = startTime + Math.min(recountMs, 10 * (clock.monotonic() - startTime))
      throw error
    } finally {
      counting = undefined
    }
  }
  function countIfDue(): void {
    if (clock.monotonic() < recountAt) return
    counting ??= count()
    counting.catch(() => {})
  }
  const isRecent = (time: number) => clock.monotonic() - time < maxAgeMs
  return {
    /** Never waits, and never throws. */
    figures(): KeyFigures {
      countIfDue()
      const age =
        countedAt === undefined ? {} : { ageSeconds: (clock.monotonic() - countedAt) / 1_000 }
      const { keys = [], warnings = [] } = last ?? {}
      return { ...summarize(keys, clock.now()), warnings, ...age, hasFailed }
    },
    /** A census of the last two minutes. Rejects with `storage_unavailable` if none can be taken. */
    async census(): Promise<Census> {
      countIfDue()
      if (last !== undefined && countedAt !== undefined && isRecent(countedAt)) return last
      counting ??= count()
      return counting.catch(() => {
        throw storageUnavailable('The keys could not be counted. Try again in a minute.', 60)
      })
    },
  }
})

function summarize(
  counts: readonly KeyCount[],
  time: number,
): Pick<KeyFigures, 'keys' | 'nextExpiry'> {
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
