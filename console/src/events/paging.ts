import { type Event, PubringError } from '../../../client/src/index.ts'

/** Reads up to `limit` events after the revision `after`. */
type ListEvents = (after: number, limit: number) => Promise<Event[]>

/**
 * The newest revision of a ledger; 0 if it is empty. Revisions have no gaps, so doubling steps and
 * then a binary search find it with about 2 log2 n reads of one event.
 */
export async function newestRevision(list: ListEvents): Promise<number> {
  const exists = async (revision: number) => {
    try {
      return (await list(revision - 1, 1)).length > 0
    } catch (error) {
      // The service rejects an `after` beyond the newest revision.
      if (error instanceof PubringError && error.code === 'history_changed') return false
      throw error
    }
  }
  let low = 0
  let high = 1
  while (await exists(high)) {
    low = high
    high *= 2
  }
  // `low` exists (or is 0), `high` does not.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await exists(middle)) low = middle
    else high = middle
  }
  return low
}

/** The `size` events up to and including the revision `newest`, newest first. */
export async function listBackwards(
  list: ListEvents,
  newest: number,
  size: number,
): Promise<Event[]> {
  if (newest <= 0) return []
  const after = Math.max(0, newest - size)
  const events = await list(after, newest - after)
  return events.reverse()
}
