import { genesisHash } from '@pubring/client/internal/log/chain'
import { sql } from 'kysely'
import { present } from '../../runtime/present.ts'
import { requireAuthorization } from '../access/authorization.ts'
import type { Caller } from '../access/callers.ts'
import type { Origin, Outcome, Transaction } from '../changes.ts'
import { notFound } from '../faults.ts'
import { columnsOf, type Db, type Tables } from '../storage/schema.ts'
import { exists, hasOtherWriters, insertion, pipeline, statement } from '../storage/statements.ts'
import {
  eventAbout,
  eventHash,
  exchangeLedgerId,
  hasValidChanges,
  type NewEvent,
  type PublishedDigests,
  systemLedgerId,
} from './chain.ts'
import { eventFromRow, eventTable, eventToRow } from './stored.ts'

/** A ledger locked in a transaction: its new revision, and the hash that the next event extends. */
interface LedgerLock {
  db: Db
  ledgerId: string
  revision: number
  previousHash: string
}

/** A ledger locked for the change of this origin. */
export interface LockedLedger extends LedgerLock {
  origin: Origin
  /** Who requests the change, as it is under the lock; none for the system. */
  caller?: Caller | undefined
}

/** Creates the ledger of a new project, locked at revision 1. */
export async function openLedger(db: Db, ledgerId: string, origin: Origin): Promise<LockedLedger> {
  const head = { revision: 1, hash: genesisHash }
  await db
    .insertInto('ledger')
    .values({ project_id: ledgerId, ...head })
    .execute()
  return { db, ledgerId, revision: 1, previousHash: genesisHash, origin }
}

/** Creates the ledger of exchanges for all projects, unless it exists, with an event of the system ledger. */
async function openExchangeLedger(tx: Transaction, origin: Origin): Promise<void> {
  const head = { project_id: exchangeLedgerId, revision: 0, hash: genesisHash }
  const query = tx.db
    .insertInto('ledger')
    .values(head)
    .onConflict((conflict) => conflict.column('project_id').doNothing())
  if (!(await exists(query.returning('hash')))) return
  const system = await lockSystemLedger(tx, origin)
  await appendEvents(system, [eventAbout('ledger.opened', exchangeLedgerId, {})])
}

const lockHead = statement((db, { ledgerId }: { ledgerId: string }) => {
  const head = db
    .selectFrom('ledger')
    .select((ledger) => [ledger('revision', '+', 1).as('revision'), 'hash'])
    .where('project_id', '=', ledgerId)
  return hasOtherWriters(db) ? head.forUpdate() : head
})

const updateHead = statement(
  (db, { ledgerId, ...head }: Pick<Tables['ledger'], 'revision' | 'hash'> & { ledgerId: string }) =>
    db.updateTable('ledger').set(head).where('project_id', '=', ledgerId),
)

const insertEvents = insertion('event')

/**
 * Locks the row until the transaction ends: changes of one project run one after another, and its revisions
 * have no gap. The one writer of SQLite only reads it. Undefined if there is no such ledger.
 */
export async function lockLedger(db: Db, ledgerId: string): Promise<LedgerLock | undefined> {
  const [row] = await lockHead(db, { ledgerId })
  return row && { db, ledgerId, revision: row.revision, previousHash: row.hash }
}

/**
 * Locks the ledger for a request and checks its authorization again under the lock. Throws
 * `project_not_found` if there is no such ledger. The ledger of a deleted project remains, so the caller
 * reads the project after this.
 */
export async function lockProjectLedger(
  tx: Transaction,
  projectId: string,
  origin: Origin,
): Promise<LockedLedger> {
  return requireLedger(await lockForRequest(tx, projectId, origin))
}

function requireLedger(ledger: LockedLedger | undefined): LockedLedger {
  if (ledger === undefined) throw notFound('project_not_found')
  return ledger
}

export async function lockSystemLedger(tx: Transaction, origin: Origin): Promise<LockedLedger> {
  const ledger = await lockForRequest(tx, systemLedgerId, origin)
  if (ledger === undefined) throw new Error('the system ledger is missing')
  return ledger
}

/** Locks the ledger of the exchanges for the project, or for all projects. A contradicted row may name any. */
export async function lockExchangeLedger(
  tx: Transaction,
  { projectId = exchangeLedgerId, contradicted }: { projectId?: string; contradicted?: true },
  origin: Origin,
): Promise<LockedLedger> {
  const ledgerId = contradicted ? exchangeLedgerId : projectId
  const ledger = await lockForRequest(tx, ledgerId, origin)
  if (ledger !== undefined || ledgerId !== exchangeLedgerId) return requireLedger(ledger)
  await openExchangeLedger(tx, origin)
  return lockProjectLedger(tx, ledgerId, origin)
}

async function lockForRequest(
  tx: Transaction,
  ledgerId: string,
  origin: Origin,
): Promise<LockedLedger | undefined> {
  const { db } = tx
  const [ledger, caller] = await pipeline(
    db,
    () => lockLedger(db, ledgerId),
    () => requireAuthorization(tx, origin),
  )
  return ledger && { ...ledger, origin, caller }
}

/** The last event of a ledger, with the hash before it and that of the head, for `provenDigests`. */
export function lastEvent(db: Db, ledgerId: string) {
  return db
    .selectFrom('event')
    .select(columnsOf(eventTable).map((column) => `event.${column}` as const))
    .select(({ selectFrom }) => [
      selectFrom('ledger').select('ledger.hash').where('project_id', '=', ledgerId).as('head'),
      selectFrom('event as previous')
        .select('previous.hash')
        .where('previous.project_id', '=', ledgerId)
        .where('previous.revision', '=', sql<number>`event.revision - 1`)
        .as('previous_hash'),
    ])
    .where('event.project_id', '=', ledgerId)
    .orderBy('event.revision', 'desc')
    .limit(1)
}

const selectLastEvent = statement((db, { ledgerId }: { ledgerId: string }) =>
  lastEvent(db, ledgerId),
)

type LastEvent = Tables['event'] & { head: string | null; previous_hash: string | null }

/**
 * The digests of the last event, for a change under the lock. Undefined if the hash of the event is not that of
 * the head: the change would make forged digests part of the ledger.
 */
export function provenDigests(last: LastEvent): PublishedDigests | undefined {
  if (!hasValidChanges(last.changes)) return undefined
  const event = eventFromRow(last)
  const isIntact = eventHash(last.previous_hash ?? genesisHash, event) === last.head
  return isIntact ? event.published : undefined
}

async function readDigests(db: Db, ledgerId: string): Promise<PublishedDigests | undefined> {
  if ([systemLedgerId, exchangeLedgerId].includes(ledgerId)) return undefined
  const [last] = await selectLastEvent(db, { ledgerId })
  return last && provenDigests(last)
}

/**
 * Appends events, the first of which gets the ledger's revision, and updates the head. `digests`: of what
 * the project publishes from then on, if that changes; events of other changes repeat those of the last one,
 * and have none if it was altered: then the key set is made of the keys until one changes. Returns the hash
 * of the last event.
 */
export async function appendEvents(
  ledger: LockedLedger,
  events: readonly NewEvent[],
  digests?: PublishedDigests,
): Promise<string> {
  const { db, ledgerId } = ledger
  const { time, actor, requestId } = ledger.origin
  const published = present({ published: digests ?? (await readDigests(db, ledgerId)) })
  let hash = ledger.previousHash
  const rows = events.map((event, index) => {
    const revision = ledger.revision + index
    const content = { ledgerId, revision, time, actor, requestId, ...published, ...event }
    hash = eventHash(hash, content)
    return eventToRow({ ...content, hash })
  })
  const revision = ledger.revision + events.length - 1
  await pipeline(
    db,
    () => insertEvents(db, rows),
    () => updateHead(db, { ledgerId, revision, hash }),
  )
  return hash
}

/** Marks a change that has no event, at the time (epoch milliseconds): copies made before it are read again. */
export async function noteEventless({ db, ledgerId }: LockedLedger, time: number): Promise<void> {
  const rising = sql<number>`case when eventless_time >= ${time} then eventless_time + 1 else ${time} end`
  await db
    .updateTable('ledger')
    .set({ eventless_time: rising })
    .where('project_id', '=', ledgerId)
    .execute()
}

/** Appends the events of a change that has no result. */
export async function appendChange(
  ledger: LockedLedger,
  ...events: NewEvent[]
): Promise<Outcome<undefined>> {
  await appendEvents(ledger, events)
  return { result: undefined, changed: true }
}
