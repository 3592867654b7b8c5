import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Rows that are read, compared and written at once. */
const pageSize = 500

export type TableName = keyof Tables

export type Row = Record<string, string | number | null>

/** Every column, so that the compiler misses none; those of the primary key are true, in its order. */
const tables: { [Name in TableName]: Record<keyof Tables[Name], boolean> } = {
  project: { id: true, name: false, create_time: false, update_time: false },
  ledger: { project_id: true, revision: false, hash: false },
  event: {
    project_id: true,
    revision: true,
    type: false,
    time: false,
    actor_id: false,
    actor_name: false,
    subject_type: false,
    subject_id: false,
    changes: false,
    request_id: false,
    hash: false,
  },
  jwt_key: {
    project_id: true,
    id: true,
    label: false,
    algorithm: false,
    public_key_pem: false,
    enabled: false,
    expire_time: false,
    create_time: false,
    update_time: false,
    publish_time: false,
    jws_algorithm: false,
    jwk: false,
    bits: false,
    thumbprint: false,
    spki_sha256: false,
    material_sha256: false,
    normalised: false,
  },
  key_audit: {
    project_id: true,
    key_id: true,
    passed_rules: false,
    passed_time: false,
    weaknesses: false,
  },
  api_key: {
    id: true,
    name: false,
    role: false,
    project_id: false,
    prefix: false,
    digest: false,
    enabled: false,
    create_time: false,
    expire_time: false,
    last_use_time: false,
  },
  blocked_fingerprint: { fingerprint: true, create_time: false },
}

function columnsOf(table: TableName, keyOnly = false): string[] {
  return Object.entries(tables[table]).flatMap(([name, isKey]) => (keyOnly && !isKey ? [] : [name]))
}

/** All rows in order of the primary key, page by page. */
export async function* pages(db: Kysely<Tables>, table: TableName): AsyncGenerator<Row[]> {
  const columns = sql.join(columnsOf(table).map((name) => sql.ref(name)))
  const key = columnsOf(table, true)
  const order = sql.join(key.map((name) => sql.ref(name)))
  let last: Row | undefined
  for (;;) {
    const after: Row | undefined = last
    const rest = after && sql`where (${order}) > (${sql.join(key.map((name) => after[name]))})`
    const query = sql<Row>`select ${columns} from ${sql.table(table)} ${rest ?? sql``} order by ${order} limit ${sql.lit(pageSize)}`
    const { rows } = await query.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < pageSize) return
    last = rows.at(-1)
  }
}

/** Writes rows as they are. */
export async function insertRows(db: Kysely<Tables>, table: TableName, rows: Row[]): Promise<void> {
  const columns = columnsOf(table)
  const values = rows.map((row) => sql`(${sql.join(columns.map((name) => row[name] ?? null))})`)
  const names = sql.join(columns.map((name) => sql.ref(name)))
  await sql`insert into ${sql.table(table)} (${names}) values ${sql.join(values)}`.execute(db)
}

export async function countRows(db: Kysely<Tables>, table: TableName): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.count)
}

/** The row as text, in the order of the columns, equal on every engine. */
export function rowText(table: TableName, row: Row): string {
  return JSON.stringify(columnsOf(table).map((name) => row[name] ?? null))
}
