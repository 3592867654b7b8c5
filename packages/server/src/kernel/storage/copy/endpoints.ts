import { sql } from 'kysely'
import { keyColumnsOf } from '../columns.ts'
import { requireOwnSchema } from '../migrations/index.ts'
import { createKysely } from '../postgres/dialect.ts'
import { openWithoutMigrating as openPostgres } from '../postgres/without-migrating.ts'
import { columnsOf, type Db, type Table } from '../schema.ts'
import { begin, commit, rollback } from '../sqlite/connection.ts'
import { openWithoutMigrating as openSqlite } from '../sqlite/opening.ts'

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
export async function* readPages(db: Db, table: Table): AsyncGenerator<Row[]> {
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
export function rowText(table: Table, row: Row): string {
  return JSON.stringify(columnsOf(table).map((name) => row[name] ?? null))
}
