import { sql } from 'kysely'
import type { Store } from '../context.ts'
import { verifyLedgers } from '../ledger/all-ledgers.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import { createLedgerReads } from '../ledger/reads.ts'
import { ledgerTable } from '../ledger/stored.ts'
import type { AnySubject } from '../ledger/subject.ts'
import type { LedgerVerdict } from '../ledger/verification.ts'
import { requireOwnSchema } from './migrations/index.ts'
import { createKysely } from './postgres/database.ts'
import { openWithoutMigrating as openPostgres } from './postgres/startup.ts'
import { columnsOf, type Db, keyColumnsOf, type Table } from './schema.ts'
import { begin, commit, rollback } from './sqlite/connection.ts'
import { openWithoutMigrating as openSqlite } from './sqlite/opening.ts'

/** Called, and waited for, after each page of a table. */
export type CopyListener = (
  stage: 'copying' | 'checking',
  table: string,
  done: number,
  total: number,
) => void | Promise<void>

interface CopySummary {
  /** Whether the target held the same already, so that nothing was written. */
  repeated: boolean
  rows: number
  ledgers: number
  /** The revision of the system ledger in the snapshot that was copied. */
  systemRevision: number
  /** Ledgers that have changed in the source since the snapshot, or are new. */
  newerLedgers: number
}

/** `openStore` creates the schema of the target if there is none. */
interface CopyOptions {
  listener: CopyListener
  tables: readonly Table[]
  subjects: readonly AnySubject[]
  verifyTables(db: Db): Promise<LedgerVerdict[]>
  openStore(databaseUrl: string): Promise<Store>
}

/** A copy in progress. */
interface Copy extends Pick<CopyOptions, 'listener' | 'tables' | 'subjects' | 'verifyTables'> {
  source: Db
  target: Db
  repeated: boolean
}

/**
 * Copies everything from one database to another: ids, times, ledgers with their hashes, digests of
 * API keys. The target must be empty or hold the same. Reads one snapshot of the source and writes
 * everything in one transaction, then compares the rows and verifies the ledgers. Rejects with one line
 * for a person.
 */
export async function copyRegistry(
  fromUrl: string,
  toUrl: string,
  { openStore, ...options }: CopyOptions,
): Promise<CopySummary> {
  const source = await openCopyEndpoint(fromUrl, 'source')
  try {
    await (await openStore(toUrl)).close()
    const target = await openCopyEndpoint(toUrl, 'target')
    try {
      const repeated = !(await isEmpty(target.db, options.tables))
      const copy = { ...options, source: source.db, target: target.db, repeated }
      if (!repeated) {
        await copyTables(copy)
        await target.commit()
      }
      const checked = await check(copy)
      return { repeated, ...checked, newerLedgers: await countNewerLedgers(fromUrl, target.db) }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** A new schema holds only the head of the system's ledger. */
async function isEmpty(db: Db, tables: readonly Table[]): Promise<boolean> {
  for (const table of tables) {
    if (table !== ledgerTable && (await countRows(db, table)) > 0) return false
  }
  return (await countRows(db, ledgerTable)) <= 1
}

async function copyTables({ source, target, tables, listener }: Copy): Promise<void> {
  await target.deleteFrom('ledger').where('project_id', '=', systemLedgerId).execute()
  for (const table of tables) {
    const total = await countRows(source, table)
    let done = 0
    for await (const rows of readPages(source, table)) {
      await insertRows(target, table, rows)
      done += rows.length
      await listener('copying', table.name, done, total)
    }
  }
}

async function check(copy: Copy): Promise<Omit<CopySummary, 'repeated' | 'newerLedgers'>> {
  let rows = 0
  for (const table of copy.tables) rows += await compareTable(copy, table)
  const ledgers = await checkLedgers(copy)
  const head = await createLedgerReads(copy.target, []).ledgerHead(systemLedgerId)
  return { rows, ledgers, systemRevision: head?.revision ?? 0 }
}

/** Compares the heads with those that the source has now. */
async function countNewerLedgers(fromUrl: string, target: Db): Promise<number> {
  const source = await openCopyEndpoint(fromUrl, 'source')
  try {
    const copied = new Set<string>()
    for await (const rows of readPages(target, ledgerTable)) {
      for (const row of rows) copied.add(rowText(ledgerTable, row))
    }
    let newer = 0
    for await (const rows of readPages(source.db, ledgerTable)) {
      newer += rows.filter((row) => !copied.has(rowText(ledgerTable, row))).length
    }
    return newer
  } finally {
    await source.close()
  }
}

async function compareTable(copy: Copy, table: Table): Promise<number> {
  const { source, target, repeated, listener } = copy
  const total = await countRows(source, table)
  if ((await countRows(target, table)) !== total) throw tablesDiffer(table, repeated)
  const targetPages = readPages(target, table)
  let done = 0
  for await (const page of readPages(source, table)) {
    const copied = await targetPages.next()
    if (copied.done || !areEqual(table, page, copied.value)) throw tablesDiffer(table, repeated)
    done += page.length
    await listener('checking', table.name, done, total)
  }
  return done
}

function areEqual(table: Table, page: Row[], other: Row[]): boolean {
  if (other.length !== page.length) return false
  return page.every((row, index) => rowText(table, row) === rowText(table, other[index] ?? {}))
}

function tablesDiffer({ name }: Table, repeated: boolean): Error {
  return new Error(
    repeated
      ? `The target is not empty, and its table ${name} differs from the source. Nothing was written; use an empty database.`
      : `The copy of the table ${name} differs from the source.`,
  )
}

async function checkLedgers({ target, subjects, verifyTables }: Copy): Promise<number> {
  let ledgers = 0
  for await (const { ledgerId, broken, differences } of verifyLedgers(
    createLedgerReads(target, subjects, verifyTables),
  )) {
    if (broken !== undefined) {
      throw new Error(`The ledger ${ledgerId} is broken at ${broken.revision}: ${broken.detail}.`)
    }
    const [difference] = differences
    if (difference !== undefined) {
      throw new Error(`The tables contradict the ledger ${ledgerId}: ${difference.detail}.`)
    }
    ledgers += 1
  }
  return ledgers
}

/** Limit for each statement of a copy, and for each pause between two. */
const copyTimeoutMs = 600_000

/** A database, in one transaction. */
export interface CopyEndpoint {
  db: Db
  /** Commits, and begins the next transaction. */
  commit(): Promise<void>
  /** Rolls back and closes the database. */
  close(): Promise<void>
}

/**
 * Opens an existing database whose schema is that of this release. A `source` is read from one
 * snapshot; what is written to a `target` becomes visible with the commit.
 */
export function openCopyEndpoint(url: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  return url.startsWith('sqlite:')
    ? openSqliteEndpoint(url.slice('sqlite:'.length), role)
    : openPostgresEndpoint(url, role)
}

async function openSqliteEndpoint(file: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  const isSource = role === 'source'
  const connection = await openSqlite(
    { file, role: isSource ? 'reader' : 'writer' },
    requireOwnSchema,
  )
  const { db } = connection
  try {
    connection.run(isSource ? beginSnapshot : begin)
  } catch (error) {
    connection.close()
    throw error
  }
  return {
    db,
    async commit() {
      connection.run(commit)
      connection.run(beginSnapshot)
    },
    async close() {
      if (connection.inTransaction()) connection.run(rollback)
      connection.close()
    },
  }
}

const beginSnapshot = 'BEGIN'

async function openPostgresEndpoint(url: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  const { database } = await openPostgres(url, requireOwnSchema)
  const beginNext = () => database.begin({ timeoutMs: copyTimeoutMs, isSnapshot: true })
  let transaction = await beginNext().catch(async (error) => {
    await database.close()
    throw error
  })
  return {
    db: createKysely((statement) => transaction.query(statement)),
    async commit() {
      if (role === 'source') return
      await transaction.commit()
      transaction = await beginNext()
    },
    async close() {
      await transaction.rollback()
      await database.close()
    },
  }
}

/** Rows read, compared or written together. */
const pageSize = 500

export type Row = Record<string, string | number | null>

/** All rows in the order of the primary key, a page at a time. */
async function* readPages(db: Db, table: Table): AsyncGenerator<Row[]> {
  const columns = sql.join(columnsOf(table).map((name) => sql.ref(name)))
  const key = keyColumnsOf(table.columns)
  const order = sql.join(key.map((name) => sql.ref(name)))
  let last: Row | undefined
  for (;;) {
    const after: Row | undefined = last
    const condition = after && sql`where (${order}) > (${sql.join(key.map((name) => after[name]))})`
    const query = sql<Row>`select ${columns} from ${sql.table(table.name)} ${condition ?? sql``} order by ${order} limit ${sql.lit(pageSize)}`
    const { rows } = await query.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
    last = rows.at(-1)
  }
}

export async function insertRows(db: Db, table: Table, rows: Row[]): Promise<void> {
  const columns = columnsOf(table)
  const values = rows.map((row) => sql`(${sql.join(columns.map((name) => row[name] ?? null))})`)
  const names = sql.join(columns.map((name) => sql.ref(name)))
  await sql`insert into ${sql.table(table.name)} (${names}) values ${sql.join(values)}`.execute(db)
}

export async function countRows(db: Db, table: Table): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from ${sql.table(table.name)}`.execute(db)
  return Number(rows[0]?.count)
}

/** Equal texts for equal rows, whichever engine returned them. */
function rowText(table: Table, row: Row): string {
  return JSON.stringify(columnsOf(table).map((name) => row[name] ?? null))
}
