import { present } from '../../runtime/present.ts'
import type { LedgerHead } from '../records.ts'
import type { Db } from '../storage/schema.ts'
import type { LedgerEvent } from './chain.ts'
import { type HistoryPage, readEvents, readStretch } from './event-reads.ts'

/**
 * The last event that a reader has: its revision, and the first 8 characters of its hash, by which
 * a reader of a history that a restore or a fail-over has discarded is recognized.
 */
export interface LedgerPosition {
  revision: number
  hashStart?: string
}

export const ledgerStart: LedgerPosition = { revision: 0 }

/** The form that `parsePosition` accepts: `REVISION` or `REVISION.HASH8`. */
export const positionPattern = '^[0-9]{1,15}(\\.[0-9a-f]{8})?$'

/** The form of the position of an event, which is never the start of a ledger. */
export const eventPattern = '^[1-9][0-9]{0,14}(\\.[0-9a-f]{8})?$'

export function parsePosition(text: string): LedgerPosition | undefined {
  if (!new RegExp(positionPattern).test(text)) return undefined
  const [revision, hashStart] = text.split('.')
  return { revision: Number(revision), ...present({ hashStart }) }
}

export function positionOf({ revision, hash }: LedgerHead): LedgerPosition {
  return { revision, hashStart: hash.slice(0, 8) }
}

export function formatPosition({ revision, hashStart }: LedgerPosition): string {
  return hashStart === undefined ? String(revision) : `${revision}.${hashStart}`
}

/** A position without a hash is that of any event with its revision. */
export function isAt(position: LedgerPosition, event: LedgerHead): boolean {
  return event.revision === position.revision && event.hash.startsWith(position.hashStart ?? '')
}

/**
 * At most `limit` events after the position, or `history_changed` if the ledger has no such event.
 * A position without a hash is only recognized as foreign if it is ahead of the ledger.
 */
export async function readEventsAfter(
  db: Db,
  ledgerId: string,
  position: LedgerPosition,
  limit: number,
): Promise<LedgerEvent[] | 'history_changed'> {
  const { revision } = position
  if (revision === 0) return readEvents(db, ledgerId, { after: 0, limit })
  const page = { after: revision - 1, limit: limit + 1 }
  const [last, ...events] = await readEvents(db, ledgerId, page)
  return last !== undefined && isAt(position, last) ? events : 'history_changed'
}

/** A page to read, and the one that follows it. */
export type HistoryRequest = Omit<HistoryPage, 'after' | 'before'> & {
  after: LedgerPosition
  before?: LedgerPosition | undefined
}

interface FoundPage {
  events: LedgerEvent[]
  /** Absent after the last page. A page may be short, or empty, and not the last. */
  next?: HistoryRequest
}

/** Returns `history_changed` if the ledger does not have the events at `after` and `before`. */
export async function readHistory(
  db: Db,
  ledgerId: string,
  request: HistoryRequest,
): Promise<FoundPage | 'history_changed'> {
  const { after, before, limit, newestFirst } = request
  const ends = before?.hashStart === undefined ? [after] : [after, before]
  for (const end of ends) {
    if (!(await hasPosition(db, ledgerId, end))) return 'history_changed'
  }
  const range = { after: after.revision, before: before?.revision }
  const page = { ...request, ...range, limit: limit + 1 }
  const { events: found, examinedTo } = await readStretch(db, ledgerId, page)
  const events = found.slice(0, limit)
  const last = found.length > limit ? events.at(-1) : examinedTo
  if (last === undefined) return { events }
  const end = positionOf(last)
  return { events, next: { ...request, ...(newestFirst ? { before: end } : { after: end }) } }
}

async function hasPosition(db: Db, ledgerId: string, position: LedgerPosition): Promise<boolean> {
  const { revision } = position
  if (revision === 0) return true
  const [event] = await readEvents(db, ledgerId, { after: revision - 1, limit: 1 })
  return event !== undefined && isAt(position, event)
}
