import type { Kysely, Selectable } from 'kysely'
import type { Store } from '../../core/context.ts'
import type { LedgerEntry, LedgerReads } from '../../core/ledger/verification.ts'
import { eventFromRow } from '../row-mapping.ts'
import type { Tables } from '../schema.ts'
import { readEventRows } from './store.ts'

/** The ledgers as they stand in a database, and what finds one by its project's name. */
export interface LedgerReader extends LedgerReads, Pick<Store, 'findProject'> {
  close(): Promise<void>
}

/** What the check of the ledgers reads, on any engine; each is one statement. */
export function createLedgerReads(db: Kysely<Tables>): LedgerReads {
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
    async ledgerHead(ledgerId) {
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
      return row && { revision: row.revision, hash: row.hash, events: Number(row.events) }
    },
    async ledgerEntries(ledgerId, page) {
      return (await readEventRows(db, ledgerId, page)).map(entryOf)
    },
  }
}

/** A row that was edited by hand may hold anything; where it is no event, it has no content. */
function entryOf(row: Selectable<Tables['event']>): LedgerEntry {
  const { revision, hash } = row
  return isReadable(row.changes)
    ? { revision, hash, content: eventFromRow(row) }
    : { revision, hash }
}

/** Whether the column holds what `EventChanges` can be: two levels of objects and then values. */
function isReadable(changes: string | null): boolean {
  if (changes === null) return true
  const value = parsed(changes)
  return isRecord(value) && Object.values(value).every(isFlat)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isFlat(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((member) => !(member instanceof Object))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
