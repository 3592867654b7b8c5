import { isNestedWithin, parseJson } from '../../runtime/json.ts'
import { type ColumnKind, type Plain, plainKind } from './columns.ts'
import type { RowOf, Table } from './schema.ts'

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

interface Members {
  text: string
  integer: number
  bigint: number
  boolean: boolean
  json: unknown
}

type KindOf<T extends Table, Column extends keyof T['columns']> = T['columns'][Column] & ColumnKind

/** The members of a record, for the columns of a table: in camel case, absent for null. */
type MembersOf<T extends Table> = {
  -readonly [Column in keyof T['columns'] as KindOf<T, Column> extends `nullable ${string}`
    ? never
    : CamelCase<Column & string>]: Members[Plain<KindOf<T, Column>>]
} & {
  -readonly [Column in keyof T['columns'] as KindOf<T, Column> extends `nullable ${string}`
    ? CamelCase<Column & string>
    : never]?: Members[Plain<KindOf<T, Column>>]
}

/** For each column of JSON, what stands for a value that is no longer JSON: it matches no ledger. */
type Substitutes<T extends Table, Record extends object> = {
  [Column in keyof T['columns'] as T['columns'][Column] extends 'json' | 'nullable json'
    ? CamelCase<Column & string> & keyof Record
    : never]-?: CamelCase<Column & string> extends keyof Record
    ? NonNullable<Record[CamelCase<Column & string>]>
    : never
}

interface RowMapping<T extends Table, Record> {
  fromRow(row: RowOf<T>): Record
  /** Maps a row with some of the columns. */
  partFromRow<Column extends keyof RowOf<T> & string>(
    row: Pick<RowOf<T>, Column>,
  ): Pick<Record, CamelCase<Column> & keyof Record>
  toRow(record: Record): RowOf<T>
}

/**
 * Maps the rows of a table to records, by the kinds of its columns. Union types in text columns are not
 * validated: only this code writes them. A damaged row must not make the other ones unreadable.
 */
export function rowMapping<T extends Table, Record extends MembersOf<T>>(
  table: T,
  substitutes: Substitutes<T, Record>,
): RowMapping<T, Record> {
  const columns = Object.entries(table.columns).map(([column, kind]) => ({
    column,
    member: column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
    kind: plainKind(kind),
  }))
  const ofDamaged = new Map(Object.entries<object>(substitutes))
  function fromRow(row: object): Record {
    const record: { [member: string]: unknown } = {}
    for (const { column, member, kind } of columns) {
      const value: unknown = Reflect.get(row, column)
      if (value === null || value === undefined) continue
      if (kind === 'boolean') record[member] = value === 1
      else if (kind !== 'json') record[member] = value
      else record[member] = parseStored(String(value), ofDamaged.get(member) ?? {})
    }
    return record as Record
  }
  return {
    fromRow,
    partFromRow: fromRow,
    toRow(record) {
      const row: { [column: string]: unknown } = {}
      for (const { column, member, kind } of columns) {
        const value: unknown = Reflect.get(record, member)
        if (value === undefined) row[column] = null
        else if (kind === 'boolean') row[column] = value ? 1 : 0
        else row[column] = kind === 'json' ? JSON.stringify(value) : value
      }
      return row as RowOf<T>
    },
  }
}

/** Levels of arrays and objects in a column: recursive functions must not exhaust the stack. */
const maxLevels = 32

/** The stored object or array, or the substitute if it no longer is one. */
export function parseStored<Value extends object>(text: string, substitute: Value): Value {
  const value = parseJson(text)
  const isKept = Array.isArray(value) === Array.isArray(substitute) && value instanceof Object
  return isKept && isNestedWithin(value, maxLevels) ? (value as Value) : substitute
}
