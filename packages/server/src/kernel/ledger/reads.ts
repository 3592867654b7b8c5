import { sql } from 'kysely'
import type { ProjectRef } from '../context.ts'
import type { LedgerHead, ProjectRecord } from '../records.ts'
import { columnsOf, type Db, type Tables } from '../storage/schema.ts'
import { type EventChanges, hasValidChanges, parseChanges, systemLedgerId } from './chain.ts'
import { readEventRows } from './event-reads.ts'
import { eventFromRow, eventTable, eventToRow } from './stored.ts'
import type { AccountedRow, AnySubject } from './subject.ts'
import type { LedgerEntry, LedgerReads, LedgerVerdict, StoredHead } from './verification.ts'

/** The ledgers of a database. */
export interface LedgerReader extends LedgerReads {
  findProject(ref: ProjectRef): Promise<ProjectRecord | undefined>
  close(): Promise<void>
}

/** The queries of the verification of ledgers, on any engine. Each is one statement. */
export function createLedgerReads(
  db: Db,
  subjects: readonly AnySubject[],
  verifyTables: (db: Db) => Promise<LedgerVerdict[]> = async () => [],
): LedgerReads {
  return {
    subjects,
    verifyTables: () => verifyTables(db),
    async ledgerIds({ after, limit }) {
      const rows = await db
        .selectFrom('ledger')
        .select('project_id')
        .where('project_id', '>', after)
        .orderBy('project_id')
        .limit(limit)
        .execute()
      return rows.map((row) => row.project_id)
    },
    async headlessLedgerIds() {
      const owners = [
        sql`select project_id as id from event`,
        ...subjects.flatMap(({ ledgerIds = [] }) => ledgerIds),
      ]
      const { rows } = await sql<{ id: string }>`
        select id from (${sql.join(owners, sql` union `)}) as owner
        where not exists (select 1 from ledger where ledger.project_id = owner.id)
        order by id`.execute(db)
      return rows.map(({ id }) => id)
    },
    ledgerHead: (ledgerId) => readStoredHead(db, ledgerId),
    async countEvents() {
      // As a floating-point number: the sum of altered heads can exceed an integer.
      const sum = sql<number>`sum(cast(revision as double precision))`.as('events')
      return Number((await db.selectFrom('ledger').select(sum).executeTakeFirst())?.events)
    },
    ledgerEntries: (ledgerId, page) => readEntries(db, ledgerId, page),
    async ledgerRows(ledgerId, idsOf) {
      const all = new Map<string, AccountedRow[]>()
      for (const { name, rowsOf } of subjects) {
        all.set(name, await rowsOf(db, ledgerId, () => idsOf(name)))
      }
      return all
    },
  }
}

/** A page of a ledger's entries in order, of which each is to be compared with the one before it. */
export async function readEntries(
  db: Db,
  ledgerId: string,
  page: { after: number; limit: number },
): Promise<LedgerEntry[]> {
  return (await readEventRows(db, ledgerId, page)).map(entryFromRow)
}

/** The revisions up to which operators last accepted ledgers as they were. */
export async function readAccepted(db: Db): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('event')
    .select(['subject_id', 'changes'])
    .where('project_id', '=', systemLedgerId)
    .where('type', '=', 'ledger.accepted')
    .orderBy('revision')
    .execute()
  return new Map(
    rows.map(({ subject_id: id, changes }) => [
      id,
      Number(parseChanges(changes ?? '{}')?.revision?.to ?? 0),
    ]),
  )
}

async function readStoredHead(db: Db, ledgerId: string): Promise<StoredHead | undefined> {
  const { rows } = await sql<LedgerHead & { events: number | string; accepted: string | null }>`
    select ledger.revision, ledger.hash,
      (select count(*) from event where event.project_id = ledger.project_id) as events,
      (select changes from event
        where event.subject_id = ledger.project_id and event.project_id = ${systemLedgerId}
          and event.type = 'ledger.accepted'
        order by event.revision desc limit 1) as accepted
    from ledger where ledger.project_id = ${ledgerId}`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { revision, hash, events, accepted } = row
  const head = { revision, hash, events: Number(events) }
  if (accepted === null || !hasValidChanges(accepted)) return head
  const changes: EventChanges = JSON.parse(accepted)
  const acceptedHead = { revision: Number(changes.revision?.to), hash: String(changes.hash?.to) }
  return { ...head, accepted: acceptedHead }
}

/** A row that was edited by hand may hold anything. Without valid changes it gets no content. */
function entryFromRow(row: Tables['event']): LedgerEntry {
  const { revision, hash } = row
  if (!hasValidChanges(row.changes)) return { revision, hash }
  const content = eventFromRow(row)
  const written = eventToRow(content)
  const isInconsistent = columnsOf(eventTable).some((column) => written[column] !== row[column])
  return { revision, hash, content, isInconsistent }
}
