import { sql } from 'kysely'
import { keyColumnsOf } from '../columns.ts'
import { columnsOf, type Db, kindsOf, type TableName } from '../schema.ts'

/** Rows read, compared or written together. */
const pageSize = 500

export type Row = Record<string, string | number | null>

/** All rows in the order of the primary key, a page at a time. */
export async function* readPages(db: Db, table: TableName): AsyncGenerator<Row[]> {
  const columns = sql.join(columnsOf(table).map((name) => sql.ref(name)))
  const key = keyColumnsOf(kindsOf(table))
  const order = sql.join(key.map((name) => sql.ref(name)))
  let last: Row | undefined
  for (;;) {
    const after: Row | undefined = last
    const condition = after && sql`where (${order}) > (${sql.join(key.map((name) => after[name]))})`
    const query = sql<Row>`select ${columns} from ${sql.table(table)} ${condition ?? sql``} order by ${order} limit ${sql.lit(pageSize)}`
    const { rows } = await query.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
    last = rows.at(-1)
  }
}

export async function insertRows(db: Db, table: TableName, rows: Row[]): Promise<void> {
  const columns = columnsOf(table)
  const values = rows.map((row) => sql`(${sql.join(columns.map((name) => row[name] ?? null))})`)
  const names = sql.join(columns.map((name) => sql.ref(name)))
  await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(values)}`.execute(db)
}

export async function countRows(db: Db, table: TableName): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.count)
}

/** Equal texts for equal rows, whichever engine returned them. */
export function rowText(table: TableName, row: Row): string {
  return JSON.stringify(columnsOf(table).map((name) => row[name] ?? null))
}
