import { storageUnavailable } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { Census, KeyCount } from '../../kernel/records.ts'
import { oneFor } from '../../kernel/shared.ts'
import { earliest, now } from '../../kernel/values/times.ts'

/** Counting reads an index entry for every key, so it is repeated no sooner than this. */
const recountMs = 60_000

/** Older censuses are not the present state. */
const maxAgeMs = 2 * recountMs

/** Changes beyond these wait for the next census. */
const maxChanged = 200

/** Counts the registry. Each use takes another census in the background, if it is time. */
export const keyStatisticsOf = oneFor(({ store, clock, onCommit }: Kernel) => {
  /** Ledgers that this process has changed since the last census, and since the one under way. */
  let uncounted = new Set<string>()
  let changed = new Set<string>()
  onCommit((ledgerId) => {
    if (uncounted.size + changed.size < maxChanged) changed.add(ledgerId)
  })
  let last: Census | undefined
  let countedAt: number | undefined
  let recountAt = Number.NEGATIVE_INFINITY
  let counting: Promise<Census> | undefined
  let hasFailed = false

  async function count(): Promise<Census> {
    const startTime = clock.monotonic()
    recountAt = startTime + recountMs
    uncounted = uncounted.union(changed)
    changed = new Set()
    try {
      last = await store.census(now(clock))
      uncounted = new Set()
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
    /**
     * What was last counted, and the seconds since then and until the next active key expires. Never waits, and
     * never throws.
     */
    figures() {
      countIfDue()
      const { keys = [], warnings = [] } = last ?? {}
      const active = keys.filter(({ enabled, expired }) => enabled && !expired)
      const next = earliest(...active.map(({ firstExpiry }) => firstExpiry))
      return {
        keys: keys.map((count) => ({ ...count, state: stateOf(count) })),
        warnings,
        nextExpiry: next === undefined ? next : (Date.parse(next) - clock.now()) / 1_000,
        ageSeconds: countedAt === undefined ? countedAt : (clock.monotonic() - countedAt) / 1_000,
        hasFailed,
      }
    },
    /**
     * The projects that had warnings at a census of the last two minutes, the most urgent ones first, and those
     * that this process has changed since. Rejects with `storage_unavailable` if no census can be taken.
     */
    async warnedProjects(): Promise<string[]> {
      countIfDue()
      const isCounted = countedAt !== undefined && isRecent(countedAt)
      if (!isCounted) counting ??= count()
      const census = (isCounted && last) || (await counting?.catch(() => undefined))
      if (!census) {
        throw storageUnavailable('The keys could not be counted. Try again in a minute.', 60)
      }
      return [...new Set([...census.warnedProjects, ...uncounted, ...changed])]
    },
  }
})

/** Consistent with `keyState`, which tells active keys apart by more than is counted. */
function stateOf({ enabled, expired, compromised }: KeyCount): string {
  if (expired) return 'expired'
  if (!enabled) return 'off'
  return compromised ? 'compromised' : 'active'
}
