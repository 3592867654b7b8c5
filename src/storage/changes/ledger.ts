import type { Kysely } from 'kysely'
import { type EventContent, eventHash, genesisHash } from '../../core/ledger/chain.ts'
import { eventToRow } from '../row-mapping.ts'
import type { Tables } from '../schema.ts'
import { insertion, pipeline, statement } from '../statements.ts'

/** A ledger locked for one change: its new revision, and the hash that the event is chained to. */
export interface LockedLedger {
  ledgerId: string
  revision: number
  previousHash: string
}

/** Starts the ledger of a new project. */
export async function openLedger(db: Kysely<Tables>, ledgerId: string): Promise<LockedLedger> {
  await db
    .insertInto('ledger')
    .values({ project_id: ledgerId, revision: 1, hash: genesisHash })
    .execute()
  return { ledgerId, revision: 1, previousHash: genesisHash }
}

const raiseRevision = statement((db, { ledgerId }: { ledgerId: string }) =>
  db
    .updateTable('ledger')
    .set((update) => ({ revision: update('revision', '+', 1) }))
    .where('project_id', '=', ledgerId)
    .returning(['revision', 'hash']),
)

const moveHead = statement(
  (db, { ledgerId, ...head }: Pick<Tables['ledger'], 'revision' | 'hash'> & { ledgerId: string }) =>
    db.updateTable('ledger').set(head).where('project_id', '=', ledgerId),
)

const insertEvents = insertion('event')

/**
 * Raises the revision, which locks the row until the transaction ends: changes of one project
 * happen one after the other, and their events have no gap. Undefined for an unknown ledger.
 */
export async function lockLedger(
  db: Kysely<Tables>,
  ledgerId: string,
): Promise<LockedLedger | undefined> {
  const [row] = await raiseRevision(db, { ledgerId })
  return row && { ledgerId, revision: row.revision, previousHash: row.hash }
}

/** Gives the revision back, which nobody has seen: for a change that is no event after all. */
export async function restoreRevision(db: Kysely<Tables>, head: LockedLedger): Promise<void> {
  await db
    .updateTable('ledger')
    .set({ revision: head.revision - 1 })
    .where('project_id', '=', head.ledgerId)
    .execute()
}

type Content = Omit<EventContent, 'ledgerId' | 'revision'>

/** Writes the event of the change that holds the head, and moves the head to it. */
export function appendEvent(
  db: Kysely<Tables>,
  head: LockedLedger,
  content: Content,
): Promise<void> {
  return appendEvents(db, head, [content])
}

/** Writes the events of a change that has several: the first one has the revision of the head. */
export async function appendEvents(
  db: Kysely<Tables>,
  head: LockedLedger,
  contents: readonly Content[],
): Promise<void> {
  const { ledgerId } = head
  let hash = head.previousHash
  const rows = contents.map((content, index) => {
    const event = { ledgerId, revision: head.revision + index, ...content }
    hash = eventHash(hash, event)
    return eventToRow({ ...event, hash })
  })
  const revision = head.revision + contents.length - 1
  await pipeline(
    db,
    () => insertEvents(db, rows),
    () => moveHead(db, { ledgerId, revision, hash }),
  )
}
