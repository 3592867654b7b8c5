import type { Refusal } from '../../../async/places.ts'
import { PubringError } from '../../../errors.ts'
import { noPlace } from '../../../kernel/http/faults.ts'

const refusals = {
  full: 'Too many event streams are open. Try again later, or read the events in pages.',
  share_used_up:
    'Your API key or this project has its share of the event streams. Close one, or read the events in pages.',
}

/** The error for a stream or an export that gets no place. */
export function refusedStream(refusal: Refusal): PubringError {
  return noPlace(refusal, refusals, 10)
}

export function historyChanged(): PubringError {
  return new PubringError(
    'history_changed',
    'The ledger has no such event: `after` belongs to a history that was discarded, as by a restore of the database. Drop what you have and read the ledger from its start.',
  )
}
