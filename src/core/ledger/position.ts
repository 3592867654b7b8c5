import type { Store } from '../context.ts'
import type { LedgerEvent } from './chain.ts'

/**
 * The last event that a reader has: its revision, and the first 8 characters of its hash, by which
 * a reader of a history that a restore or a fail-over has discarded is recognized.
 */
export interface LedgerPosition {
  revision: number
  hashStart?: string
}

export const ledgerStart: LedgerPosition = { revision: 0 }

/** What `parsePosition` accepts: `REVISION` or `REVISION.HASH8`. */
export const positionPattern = '^[0-9]{1,15}(\\.[0-9a-f]{8})?$'

export function parsePosition(text: string): LedgerPosition | undefined {
  if (!new RegExp(positionPattern).test(text)) return undefined
  const [revision, hashStart] = text.split('.')
  return { revision: Number(revision), ...(hashStart === undefined ? {} : { hashStart }) }
}

export function positionOf({
  revision,
  hash,
}: Pick<LedgerEvent, 'revision' | 'hash'>): LedgerPosition {
  return { revision, hashStart: hash.slice(0, 8) }
}

export function formatPosition({ revision, hashStart }: LedgerPosition): string {
  return hashStart === undefined ? String(revision) : `${revision}.${hashStart}`
}

/**
 * At most `limit` events after the position, or `history_changed` if the ledger has no such event.
 * A position without a hash is only recognized as foreign if it is ahead of the ledger.
 */
export async function readEventsAfter(
  store: Pick<Store, 'events'>,
  ledgerId: string,
  { revision, hashStart }: LedgerPosition,
  limit: number,
): Promise<LedgerEvent[] | 'history_changed'> {
  if (revision === 0) return store.events(ledgerId, { after: 0, limit })
  const [last, ...events] = await store.events(ledgerId, { after: revision - 1, limit: limit + 1 })
  const isKnown = last?.revision === revision && last.hash.startsWith(hashStart ?? '')
  return isKnown ? events : 'history_changed'
}
