import type { Kysely } from 'kysely'
import { isNestedWithin, parseJson } from '../../runtime/json.ts'

export type Columns = Readonly<Record<string, ColumnKind>>

/** A table, the same on every engine. Its times are ISO 8601 UTC with milliseconds, which sort as text. */
export interface Table<Name extends string = string, All extends Columns = Columns> {
  name: Name
  /** The kind of each column, in order. */
  columns: All
  /** The columns that no ledger accounts for, each with the reason: they decide nothing. */
  uncovered: Uncovered<All>
}

type Uncovered<All extends Columns> = { readonly [Column in keyof All & string]?: string }

/**
 * Declares a table. Its file also adds it to `Tables`, and its feature lists it; migrations create it and
 * its indexes. Verification finds every alteration of a column that is not among the `uncovered` ones; a text is the reason for all columns.
 */
export function table<const Name extends string, const All extends Columns>(
  name: Name,
  columns: All,
  uncovered: Uncovered<All> | string = {},
): Table<Name, All> {
  if (typeof uncovered !== 'string') return { name, columns, uncovered }
  const reasons = Object.keys(columns).map((column) => [column, uncovered])
  return { name, columns, uncovered: Object.fromEntries(reasons) }
}

/** Values in rows; booleans are 0 or 1. */
interface Values {
  text: string
  integer: number
  bigint: number
  boolean: number
  json: string
}

type ValueOf<Kind extends ColumnKind> =
  | Values[Plain<Kind>]
  | (Kind extends `nullable ${string}` ? null : never)

export type RowOf<T extends Table> = {
  -readonly [Column in keyof T['columns']]: ValueOf<T['columns'][Column]>
}

/** The rows of all tables, for Kysely. Each file that declares a table adds it. */
export interface Tables {
  /** For each migration, the oldest release that works on the schema that it leaves. */
  migration_release: { name: string; oldest_release: string }
}

export type TableName = keyof Tables

export type Db = Kysely<Tables>

export function columnsOf<T extends Table>({ columns }: T): (keyof T['columns'] & string)[] {
  return Object.keys(columns)
}

type PlainKind = 'text' | 'integer' | 'bigint' | 'boolean' | 'json'

/** Not null, unless it says otherwise. The `key` columns are the primary key, in their order. */
export type ColumnKind = `${'' | 'key ' | 'unique ' | 'nullable '}${PlainKind}`

type Plain<Kind extends ColumnKind> = Kind extends `${string} ${infer Type}`
  ? Type & PlainKind
  : Kind & PlainKind

export function plainKind<Kind extends ColumnKind>(kind: Kind): Plain<Kind> {
  return kind.replace(/.* /, '') as Plain<Kind>
}

/** The columns of the primary key. */
export function keyColumnsOf(columns: Readonly<Record<string, ColumnKind>>): string[] {
  return Object.entries(columns).flatMap(([name, kind]) => (kind.startsWith('key ') ? [name] : []))
}

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

interface Members extends Omit<Values, 'boolean' | 'json'> {
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

/** The member of a record for a column. */
export function memberOf(column: string): string {
  return column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())
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
    member: memberOf(column),
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
