import type { Compilable, CompiledQuery, DialectAdapter, InsertObject, Kysely } from 'kysely'
import { chunked } from './chunks.ts'
import type { Tables } from './schema.ts'

type Db = Kysely<Tables>

/**
 * A statement that is built once for each engine and run with other values each time: building it
 * costs several times what SQLite takes to run it. Resolves with the rows. The values have the same
 * members at every call; `build` hands them on and looks at none of them.
 */
export function statement<Values extends object, Row>(
  build: (db: Db, values: Values) => Compilable<Row>,
): (db: Db, values: Values) => Promise<Row[]> {
  const built = new WeakMap<DialectAdapter, CompiledQuery<Row>>()

  function builtFor(db: Db, values: Values): CompiledQuery<Row> {
    const { adapter } = db.getExecutor()
    const known = built.get(adapter)
    if (known !== undefined) return known
    const compiled = build(db, placeholdersOf(values)).compile()
    built.set(adapter, compiled)
    return compiled
  }
  return async (db, values) => {
    const compiled = builtFor(db, values)
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? Reflect.get(values, parameter.name) : parameter,
    )
    return (await db.executeQuery<Row>({ ...compiled, parameters })).rows
  }
}

/** Inserts rows that have the same columns; of one row at a time, the statement is built once. */
export function insertion<Table extends keyof Tables>(
  table: Table,
): (db: Db, rows: readonly InsertObject<Tables, Table>[]) => Promise<void> {
  const insertOne = statement((db, row: InsertObject<Tables, Table>) =>
    db.insertInto(table).values(row),
  )
  return async (db, rows) => {
    const [row, ...others] = rows
    if (row !== undefined && others.length === 0) await insertOne(db, row)
    else for (const some of chunked(rows)) await db.insertInto(table).values(some).execute()
  }
}

/**
 * Takes steps in their order within a transaction. PostgreSQL is sent each without waiting for the
 * answers to those before: where one fails there, all after it fail. On SQLite, which may end the
 * transaction itself where one fails, none after it is begun. Rejects as the first one that fails,
 * and not before all that were begun have ended.
 */
export async function pipeline<Results extends unknown[]>(
  db: Db,
  ...steps: { [Step in keyof Results]: () => Promise<Results[Step]> }
): Promise<Results> {
  const { supportsMultipleConnections: isServer } = db.getExecutor().adapter
  const results: unknown[] = isServer ? await allSettledInOrder(steps) : []
  if (!isServer) for (const step of steps) results.push(await step())
  return results as Results
}

/** The results of all; rejects as the first in their order that fails, once none goes on any more. */
export async function allSettledInOrder<Result>(
  steps: (() => Promise<Result>)[],
): Promise<Result[]> {
  const settled = await Promise.allSettled(steps.map((step) => step()))
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

/** Stands for a value while a statement is built. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function placeholdersOf<Values extends object>(values: Values): Values {
  const names = Object.keys(values)
  return Object.fromEntries(names.map((name) => [name, new Placeholder(name)])) as Values
}
