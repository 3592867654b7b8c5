import { type Selectable, sql } from 'kysely'
import type { Store } from '../../core/context.ts'
import type { LedgerEntry, LedgerReads, StoredHead } from '../../core/ledger/verification.ts'
import { isObject, parseJson } from '../../runtime/json.ts'
import { eventFromRow } from '../row-mapping.ts'
import type { Db, Tables } from '../schema.ts'
import { readEventRows } from './store.ts'

/** The ledgers of a database. */
export interface LedgerReader extends LedgerReads, Pick<Store, 'findProject'> {
  close(): Promise<void>
}

/** The queries of the verification of ledgers, on any engine. Each is one statement. */
export function createLedgerReads(db: Db): LedgerReads {
  return {
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
      const rows = await db
        .selectFrom('event')
        .leftJoin('ledger', 'ledger.project_id', 'event.project_id')
        .select('event.project_id')
        .distinct()
        .where('ledger.project_id', 'is', null)
        .orderBy('event.project_id')
        .execute()
      return rows.map((row) => row.project_id)
    },
    ledgerHead: (ledgerId) => readStoredHead(db, ledgerId),
    async countEvents() {
      // As a floating-point number: the sum of altered heads can exceed an integer.
      const sum = sql<number>`sum(cast(revision as double precision))`.as('events')
      return Number((await db.selectFrom('ledger').select(sum).executeTakeFirst())?.events)
    },
    async ledgerEntries(ledgerId, page) {
      return (await readEventRows(db, ledgerId, page)).map(entryFromRow)
    },
  }
}

async function readStoredHead(db: Db, ledgerId: string): Promise<StoredHead | undefined> {
  const row = await db
    .selectFrom('ledger')
    .select(['revision', 'hash'])
    .select((select) =>
      select
        .selectFrom('event')
        .select((count) => count.fn.countAll<number | string>().as('count'))
        .whereRef('event.project_id', '=', 'ledger.project_id')
        .as('events'),
    )
    .where('project_id', '=', ledgerId)
    .executeTakeFirst()
  return row && { ...row, events: Number(row.events) }
}

/** A row that was edited by hand may hold anything. Without valid changes it gets no content. */
function entryFromRow(row: Selectable<Tables['event']>): LedgerEntry {
  const { revision, hash } = row
  return hasValidChanges(row.changes)
    ? { revision, hash, content: eventFromRow(row) }
    : { revision, hash }
}

/** Whether the column holds valid `EventChanges`: two levels of objects, then values. */
function hasValidChanges(changes: string | null): boolean {
  if (changes === null) return true
  const value = parseJson(changes)
  return isObject(value) && Object.values(value).every(isFlat)
}

function isFlat(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((member) => !(member instanceof Object))
}
