import { sql } from 'kysely'
import { type Db, keyColumnsOf, type RowOf, type Table, type TableName } from '../storage/schema.ts'
import { insertion } from '../storage/statements.ts'
import type { EventChanges, NewEvent } from './chain.ts'

/** A kind of row (`subject`), as far as writing its records depends on it. */
interface Kind<Verb extends string, Record> {
  changes(before: Record | undefined, after: Record): EventChanges
  state(record: Record): EventChanges
  event(verb: Verb, id: string, changes: EventChanges): NewEvent
}

/**
 * Returns the function that stores a record and returns its event. It inserts the row or, with the record
 * `before`, updates what events account for: the other columns change elsewhere.
 */
export function recordWriter<
  T extends Table<TableName>,
  Verb extends string,
  Record extends { id: string },
>(table: T, kind: Kind<Verb, Record>, toRow: (record: Record) => RowOf<T>) {
  // Kysely cannot type a query of a table that is a parameter.
  const name = table.name as 'event'
  const insert = insertion(name) as (db: Db, rows: readonly object[]) => Promise<void>
  const keys = keyColumnsOf(table.columns)
  const kept = new Set([...keys, ...Object.keys(table.uncovered)])
  return async (
    db: Db,
    { verb, before, after }: { verb: Verb; before: Record | undefined; after: Record },
  ): Promise<NewEvent> => {
    const row: Readonly<globalThis.Record<string, unknown>> = toRow(after)
    if (before === undefined) await insert(db, [row])
    else {
      const columns = Object.entries(row).filter(([column]) => !kept.has(column))
      let query = db.updateTable(name).set(Object.fromEntries(columns))
      for (const key of keys) query = query.where(sql.ref(key), '=', row[key])
      await query.execute()
    }
    return kind.event(verb, after.id, { ...kind.changes(before, after), ...kind.state(after) })
  }
}
