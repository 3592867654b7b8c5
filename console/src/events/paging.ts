import type { Event } from '../../../client/src/index.ts'

/** Reads `limit` events after the revision `after`. */
export type List = (after: number, limit: number) => Promise<Event[]>

/**
 * The newest revision of a ledger; 0 where it is empty. Revisions have no gap, so that it is found by
 * looking in steps that double, then halve: some 2 log2 n reads of one event.
 */
export async function headOf(list: List): Promise<number> {
  const isBeyond = async (revision: number) => (await list(revision, 1)).length === 0
  let low = 0
  let high = 1
  while (!(await isBeyond(high - 1))) {
    low = high
    high *= 2
  }
  // The head is at least `low` and less than `high`.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await isBeyond(middle - 1)) high = middle
    else low = middle
  }
  return low
}

/** The `size` events up to and with the revision `newest`, newest first. */
export async function pageBefore(list: List, newest: number, size: number): Promise<Event[]> {
  if (newest <= 0) return []
  const after = Math.max(0, newest - size)
  const events = await list(after, newest - after)
  return events.reverse()
}
