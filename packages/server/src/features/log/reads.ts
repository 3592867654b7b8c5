import { sql } from 'kysely'
import { type EventChanges, systemLedgerId } from '../../kernel/ledger/chain.ts'
import { columnsOf, type Db, parseStored, rowMapping } from '../../kernel/storage/schema.ts'
import { present } from '../../runtime/present.ts'
import type { LogTree, MovedHead } from './changes.ts'
import { logTreeTable } from './stored.ts'

/** A tree, by default the one that grows; undefined if there is none. */
export async function readTree(db: Db, id?: string): Promise<LogTree | undefined> {
  const trees = db.selectFrom('log_tree').select(columnsOf(logTreeTable)).orderBy('id')
  const query = id === undefined ? trees.where('end_time', 'is', null) : trees.where('id', '=', id)
  const row = await query.limit(1).executeTakeFirst()
  return row && treeFromRow(row)
}

/** The origin in the last event that a tree was started; undefined if there is none. */
export async function readStartedOrigin(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom('event')
    .select('changes')
    .where('project_id', '=', systemLedgerId)
    .where('subject_id', '=', systemLedgerId)
    .where('type', '=', 'log.started')
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst()
  const changes: EventChanges = parseStored(row?.changes ?? '{}', {})
  return changes.origin?.to?.toString()
}

/** The stored tile of the tree that grows: up to 256 hashes, in base64. */
export async function findTile(
  db: Db,
  level: number,
  position: number,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('log_tile')
    .select('hashes')
    .where('level', '=', level)
    .where('position', '=', position)
    .executeTakeFirst()
  return row?.hashes
}

/** The texts of entries from `start` up to `end`, without the latter. */
export async function readEntries(
  db: Db,
  { start, end }: { start: number; end: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('log_entry')
    .select('content')
    .where('position', '>=', start)
    .where('position', '<', end)
    .orderBy('position')
    .execute()
  return rows.map(({ content }) => content)
}

/**
 * The first entry of the ledger with at least this revision, or its last one, before a position, and
 * the blinding of its ledger: 32 bytes, in base64.
 */
export async function findEntry(
  db: Db,
  ledgerId: string,
  { revision, before }: { revision?: number; before: number },
): Promise<{ position: number; content: string; blinding: string } | undefined> {
  const entries = db
    .selectFrom('log_entry')
    .innerJoin('log_ledger', 'log_ledger.ledger_id', 'log_entry.ledger_id')
    .select(['log_entry.position', 'log_entry.content', 'log_ledger.blinding'])
    .where('log_entry.ledger_id', '=', ledgerId)
    .where('log_entry.position', '<', before)
    .limit(1)
  return revision === undefined
    ? entries.orderBy('log_entry.position', 'desc').executeTakeFirst()
    : entries
        .where('log_entry.revision', '>=', revision)
        .orderBy('log_entry.position')
        .executeTakeFirst()
}

const { fromRow: treeFromRow } = rowMapping<typeof logTreeTable, LogTree>(logTreeTable, {})

/**
 * The next `limit` ledgers after an id, in two statements: the heads that differ from what the tree
 * has. `last` is the `after` of the next page; absent at the end.
 */
export async function readMovedHeads(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<{ heads: MovedHead[]; last?: string }> {
  const end = await db
    .selectFrom('ledger')
    .select('project_id')
    .where('project_id', '>', after)
    .orderBy('project_id')
    .offset(limit - 1)
    .limit(1)
    .executeTakeFirst()
  const last = end?.project_id
  const { rows: heads } = await sql<MovedHead>`
    select ledger.project_id as "ledgerId", ledger.revision, ledger.hash
    from ledger left join log_ledger on log_ledger.ledger_id = ledger.project_id
    where ledger.project_id > ${after} ${last === undefined ? sql`` : sql`and ledger.project_id <= ${last}`}
      and ledger.revision > 0 and (log_ledger.hash is null or log_ledger.hash <> ledger.hash)
    order by ledger.project_id`.execute(db)
  return { heads, ...present({ last }) }
}
