import { sql } from 'kysely'
import { type EventChanges, systemLedgerId } from '../../kernel/ledger/chain.ts'
import { columnsOf, type Db, parseStored, rowMapping } from '../../kernel/storage/schema.ts'
import { present } from '../../runtime/present.ts'
import type { LogSlot, LogTile, LogTree, MovedHead } from './changes.ts'
import { logSlotTable, logTileTable, logTreeTable } from './stored.ts'

/** A tree, by default the one that grows; undefined if there is none. */
export async function readTree(db: Db, id?: string): Promise<LogTree | undefined> {
  const trees = db.selectFrom('log_tree').select(columnsOf(logTreeTable)).orderBy('id')
  const query = id === undefined ? trees.where('end_time', 'is', null) : trees.where('id', '=', id)
  const row = await query.limit(1).executeTakeFirst()
  return row && treeFromRow(row)
}

/** The start of a tree, by its event. */
interface TreeStart {
  time: string
  origin: string
  verifierKey: string
  /** The entries of the last checkpoint that was signed of the tree before. */
  previousSize?: number
}

/** The trees that events have started, in order. */
export async function readStarts(db: Db): Promise<TreeStart[]> {
  const rows = await db
    .selectFrom('event')
    .select(['time', 'changes'])
    .where('project_id', '=', systemLedgerId)
    .where('subject_id', '=', systemLedgerId)
    .where('type', '=', 'log.started')
    .orderBy('revision')
    .execute()
  return rows.map(({ time, changes }) => {
    const { origin, verifierKey, size }: EventChanges = parseStored(changes ?? '{}', {})
    const start = { time, origin: String(origin?.to), verifierKey: String(verifierKey?.to) }
    return size === undefined ? start : { ...start, previousSize: Number(size.from) }
  })
}

/** The texts of the entries from `start` up to, but not including, `end`. */
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

/** The stored tiles of one level at these positions, of the tree that grows. */
export async function readTiles(
  db: Db,
  level: number,
  positions: readonly number[],
): Promise<LogTile[]> {
  return db
    .selectFrom('log_tile')
    .select(columnsOf(logTileTable))
    .where('level', '=', level)
    .where('position', 'in', positions)
    .execute()
}

/** The leaves of the map of last heads in these buckets. */
export async function readSlots(db: Db, buckets: readonly number[]): Promise<LogSlot[]> {
  return db
    .selectFrom('log_slot')
    .select(columnsOf(logSlotTable))
    .where('bucket', 'in', buckets)
    .execute()
}

/** An entry, and the ledger that its row names: null for an entry with the root of the map of last heads. */
export interface NewEntry {
  ledgerId: string | null
  revision: number | null
  content: string
  /** The revision of the entry of the ledger before. */
  previous: number | null
}

/** The entries from `start` up to, but not including, `end`. */
export async function readNewEntries(
  db: Db,
  { start, end }: { start: number; end: number },
): Promise<NewEntry[]> {
  const { rows } = await sql<NewEntry>`
    select ledger_id as "ledgerId", revision, content, (select earlier.revision from log_entry earlier
        where earlier.ledger_id = log_entry.ledger_id and earlier.position < log_entry.position
        order by earlier.position desc limit 1) as previous
    from log_entry where position >= ${start} and position < ${end}
    order by position`.execute(db)
  return rows
}

/**
 * The first entry of the ledger with at least this revision, or its last one, before a position; the
 * blinding of its ledger, 32 bytes in base64; and what the last logged head of all published.
 */
export async function findEntry(
  db: Db,
  ledgerId: string,
  { revision, before }: { revision?: number; before: number },
): Promise<
  { position: number; content: string; blinding: string; list: string | null } | undefined
> {
  const entries = db
    .selectFrom('log_entry')
    .innerJoin('log_ledger', 'log_ledger.ledger_id', 'log_entry.ledger_id')
    .select(['log_entry.position', 'log_entry.content'])
    .select(['log_ledger.blinding', 'log_ledger.list'])
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
 * The next `limit` ledgers after an id: the heads that differ from what the tree has, and whether a logged
 * ledger among them has no head any more. `last` is the `after` of the next page; absent at the end.
 */
export async function readMovedHeads(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<{ heads: MovedHead[]; isGone: boolean; last?: string }> {
  const end = await db
    .selectFrom('ledger')
    .select('project_id')
    .where('project_id', '>', after)
    .orderBy('project_id')
    .offset(limit - 1)
    .limit(1)
    .executeTakeFirst()
  const last = end?.project_id
  const within = (column: string) => sql`${sql.ref(column)} > ${after}
    ${last === undefined ? sql`` : sql`and ${sql.ref(column)} <= ${last}`}`
  const { rows: heads } = await sql<MovedHead>`
    select ledger.project_id as "ledgerId", ledger.revision, ledger.hash,
      log_ledger.revision as "loggedRevision", published_key_set.list,
      case when exists (select 1 from event where event.project_id = ledger.project_id
        and event.revision = log_ledger.revision and event.hash = log_ledger.hash)
        and ledger.revision > log_ledger.revision then 1 else 0 end as continues
    from ledger left join log_ledger on log_ledger.ledger_id = ledger.project_id
      left join published_key_set on published_key_set.project_id = ledger.project_id
    where ${within('ledger.project_id')}
      and ledger.revision > 0 and (log_ledger.hash is null or log_ledger.hash <> ledger.hash)
    order by ledger.project_id`.execute(db)
  const { rows: gone } = await sql`select 1 from log_ledger where ${within('log_ledger.ledger_id')}
    and not exists (select 1 from ledger where ledger.project_id = log_ledger.ledger_id)
    limit 1`.execute(db)
  return { heads, isGone: gone.length > 0, ...present({ last }) }
}

/** An entry, with what other tables say of it. */
export interface EntryRow {
  position: number
  /** Null for an entry with the root of the map of last heads. */
  ledgerId: string | null
  revision: number | null
  content: string
  blinding: string | null
  /** The hash of the event that the entry names. */
  hash: string | null
  /** The digests in this event. */
  published: string | null
}

/** The numbers of rows of the log. */
export async function readCounts(db: Db): Promise<Record<'entries' | 'tiles' | 'slots', number>> {
  const { rows } = await sql<Record<'entries' | 'tiles' | 'slots', number | string>>`
    select (select count(*) from log_entry) as entries, (select count(*) from log_tile) as tiles,
      (select count(*) from log_slot) as slots`.execute(db)
  const [{ entries, tiles, slots } = { entries: 0, tiles: 0, slots: 0 }] = rows
  return { entries: Number(entries), tiles: Number(tiles), slots: Number(slots) }
}

/** The entries from `start` up to, but not including, `end`, by their positions. */
export async function readEntryRows(
  db: Db,
  start: number,
  end: number,
): Promise<Map<number, EntryRow>> {
  const { rows } = await sql<EntryRow>`
    select log_entry.position, log_entry.ledger_id as "ledgerId", log_entry.revision,
      log_entry.content, log_ledger.blinding, event.hash, event.published
    from log_entry
      left join log_ledger on log_ledger.ledger_id = log_entry.ledger_id
      left join event on event.project_id = log_entry.ledger_id
        and event.revision = log_entry.revision
    where log_entry.position >= ${start} and log_entry.position < ${end}`.execute(db)
  return new Map(rows.map((row) => [row.position, row]))
}

/** Ledgers that were logged and have no head any more. */
export async function readGone(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select ledger_id as id from log_ledger where not exists
      (select 1 from ledger where ledger.project_id = log_ledger.ledger_id)`.execute(db)
  return rows.map(({ id }) => id)
}
