import {
  type Compilable,
  type CompiledQuery,
  type DialectAdapter,
  type InsertObject,
  type InsertQueryBuilder,
  type InsertResult,
  sql,
} from 'kysely'
import {
  type Db,
  keyColumnsOf,
  type RowOf,
  type Table,
  type TableName,
  type Tables,
} from './schema.ts'

/** Rows or values in one statement: each engine limits the number of parameters. */
const maxChunk = 500

/** Longest list for which `statement` keeps the compiled query. */
const maxCachedLength = 4

type Run = (text: string, parameters: readonly unknown[]) => unknown[] | Promise<unknown[]>

const direct = new WeakMap<Db, Run>()

/**
 * Has `statement` run its queries by this function: Kysely's way to a connection costs several times
 * what a query does on SQLite.
 */
export function runDirectly(db: Db, run: Run): void {
  direct.set(db, run)
}

/** Whether other connections can write at the same time, so that what a change reads must be locked. */
export function hasOtherWriters(db: Db): boolean {
  return db.getExecutor().adapter.supportsMultipleConnections === true
}

/**
 * `FOR SHARE` makes a revocation wait until this transaction has ended, and this transaction wait for
 * a revocation in progress. SQLite has one writer, so it needs no lock.
 */
export function locked<Query extends { forShare(): Query }>(db: Db, query: Query): Query {
  return hasOtherWriters(db) ? query.forShare() : query
}

/** Whether the query finds a row. */
export async function exists(query: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> {
  return (await query.executeTakeFirst()) !== undefined
}

export function chunked<Item>(items: readonly Item[]): Item[][] {
  const chunks: Item[][] = []
  for (let start = 0; start < items.length; start += maxChunk) {
    chunks.push(items.slice(start, start + maxChunk))
  }
  return chunks
}

/** Runs a statement for each chunk, one after another, and returns all their rows. */
export async function inChunks<Item, Row>(
  items: readonly Item[],
  run: (chunk: Item[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const results: (readonly Row[])[] = []
  for (const chunk of chunked(items)) results.push(await run(chunk))
  return results.flat()
}

/**
 * Reads items together, or on SQLite one by one: it has no round trips to save, and a statement for a single
 * item stays compiled.
 */
export async function readTogether<Item, Row>(
  db: Db,
  items: readonly Item[],
  read: (some: readonly Item[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  if (hasOtherWriters(db)) return [...(await read(items))]
  const rows: Row[] = []
  for (const item of items) rows.push(...(await read([item])))
  return rows
}

/**
 * Compiles a statement once per engine and runs it with the values of each call: compiling costs
 * several times what SQLite takes to run it. The values have the same members in every call, at
 * most one of which is a list; a list compiles once per length. `build` must pass the values on
 * without inspecting them. Resolves with the rows.
 */
export function statement<Values extends object, Row>(
  build: (db: Db, values: Values) => Compilable<Row>,
): (db: Db, values: Values) => Promise<Row[]> {
  const cache = new WeakMap<DialectAdapter, Map<number, CompiledQuery<Row>>>()

  function compile(db: Db, values: Values): CompiledQuery<Row> {
    const { adapter } = db.getExecutor()
    const byLength = cache.get(adapter) ?? new Map<number, CompiledQuery<Row>>()
    const length = Object.values(values).find(Array.isArray)?.length ?? 0
    const cached = byLength.get(length)
    if (cached !== undefined) return cached
    const compiled = build(db, placeholdersFor(values)).compile()
    if (length <= maxCachedLength) cache.set(adapter, byLength.set(length, compiled))
    return compiled
  }
  return async (db, values) => {
    const compiled = compile(db, values)
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? parameter.valueIn(values) : parameter,
    )
    const run = direct.get(db)
    if (run !== undefined) return run(compiled.sql, parameters) as Row[] | Promise<Row[]>
    return (await db.executeQuery<Row>({ ...compiled, parameters })).rows
  }
}

type Insert<Row> = (db: Db, rows: readonly Row[]) => Promise<void>

/** Inserts rows that have the same columns. The statement for a single row is compiled once. */
export function insertion<Name extends TableName>(
  name: Name,
  finish = (query: InsertQueryBuilder<Tables, Name, InsertResult>) => query,
): Insert<InsertObject<Tables, Name>> {
  const insertOne = statement((db, row: InsertObject<Tables, Name>) =>
    finish(db.insertInto(name).values(row)),
  )
  return async (db, rows) => {
    const [row, ...others] = rows
    if (row !== undefined && others.length === 0) return void (await insertOne(db, row))
    for (const chunk of chunked(rows)) await finish(db.insertInto(name).values(chunk)).execute()
  }
}

/** Inserts rows as `insertion` does, each in the place of one with the same primary key. */
export function replacement<T extends Table<TableName>>({ name, columns }: T): Insert<RowOf<T>> {
  const keys = keyColumnsOf(columns)
  const others = Object.keys(columns).filter((column) => !keys.includes(column))
  // Kysely cannot type a query of a table that is a parameter.
  return insertion(name as 'event', (query) =>
    query.onConflict((conflict) =>
      conflict
        .columns(keys as 'revision'[])
        .doUpdateSet(({ ref }) =>
          Object.fromEntries(others.map((column) => [column, ref(`excluded.${column}` as 'hash')])),
        ),
    ),
  ) as Insert<object>
}

/**
 * Runs steps of a transaction in order. PostgreSQL gets each statement without waiting for the
 * responses to the earlier ones; after a failure it rejects all later ones. On SQLite a step starts
 * once the one before it has succeeded, since SQLite may end the transaction on a failure. Rejects
 * with the error of the first failed step, once every started step has settled.
 */
export async function pipeline<Results extends unknown[]>(
  db: Db,
  ...steps: { [Step in keyof Results]: () => Promise<Results[Step]> }
): Promise<Results> {
  const results: unknown[] = []
  if (hasOtherWriters(db)) {
    for (const one of await Promise.allSettled(steps.map((step) => step()))) {
      if (one.status === 'rejected') throw one.reason
      results.push(one.value)
    }
  } else for (const step of steps) results.push(await step())
  return results as Results
}

/** Stands for a value, or an element of a list, while a statement is compiled. */
class Placeholder {
  readonly name: string
  readonly index: number | undefined
  constructor(name: string, index?: number) {
    this.name = name
    this.index = index
  }
  valueIn(values: object): unknown {
    const value = Reflect.get(values, this.name)
    return this.index === undefined ? value : value[this.index]
  }
}

function placeholdersFor<Values extends object>(values: Values): Values {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    Array.isArray(value)
      ? value.map((_, index) => new Placeholder(name, index))
      : new Placeholder(name),
  ])
  return Object.fromEntries(entries) as Values
}

/** Rejects unless all tables can be read. */
export async function ping(db: Db, tables: readonly Table[]): Promise<void> {
  const each = tables.map(({ name }) => sql`exists (select 1 from ${sql.table(name)})`)
  await sql`select ${sql.join(each)}`.execute(db)
}
