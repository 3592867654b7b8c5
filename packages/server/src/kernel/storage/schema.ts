import type { Kysely } from 'kysely'
import type { ColumnKind, Plain } from './columns.ts'

export type Columns = Readonly<Record<string, ColumnKind>>

/** A table, the same on every engine. Its times are ISO 8601 UTC with milliseconds, which sort as text. */
export interface Table<Name extends string = string, All extends Columns = Columns> {
  name: Name
  /** The kind of each column, in order. */
  columns: All
  /** As SQL after `create`. */
  indexes: readonly string[]
}

/** Declares a table. Its file also adds it to `Tables`, and its feature lists it. */
export function table<const Name extends string, const All extends Columns>(
  name: Name,
  columns: All,
  indexes: readonly string[] = [],
): Table<Name, All> {
  return { name, columns, indexes }
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
