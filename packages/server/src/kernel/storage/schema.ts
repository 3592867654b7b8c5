import type { Kysely } from 'kysely'
import type { ColumnKind, Plain } from './columns.ts'
import { firstTables } from './migrations/first-tables.ts'

/**
 * The tables, the same on every engine: as the first migration creates them, and with what later ones
 * add.
 */
const columns = firstTables

export type Columns = typeof columns

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

export type TableName = keyof Columns

/** The type of a row in each table, for Kysely. */
export type Tables = {
  [Name in TableName]: {
    -readonly [Column in keyof Columns[Name]]: ValueOf<Columns[Name][Column] & ColumnKind>
  }
}

export type Db = Kysely<Tables>

export const tableNames = Object.keys(columns) as TableName[]

/** The kind of each column, in order. */
export function kindsOf(table: TableName): Readonly<Record<string, ColumnKind>> {
  return columns[table]
}

export function columnsOf<Name extends TableName>(table: Name): (keyof Tables[Name] & string)[] {
  return Object.keys(columns[table]) as (keyof Tables[Name] & string)[]
}
