import type { Refusal } from '../../../async/places.ts'
import { PubringError } from '../../../errors.ts'

/** The error for a stream or an export that gets no place. */
export function refusedStream(refusal: Refusal): PubringError {
  return refusal === 'full'
    ? new PubringError(
        'overloaded',
        'Too many event streams are open. Try again later, or read the events in pages.',
        { retryAfter: 10 },
      )
    : new PubringError(
        'rate_limited',
        'Your API key or this project has its share of the event streams. Close one, or read the events in pages.',
        { retryAfter: 10 },
      )
}

export function historyChanged(): PubringError {
  return new PubringError(
    'history_changed',
    'The ledger has no such event: `after` belongs to a history that was discarded, as by a restore of the database. Drop what you have and read the ledger from its start.',
  )
}
