import type { CreateIndexBuilder, CreateTableBuilder, Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

export interface SchemaMigration extends Migration {
  /** Recorded in the database: an older release does not start on the schema. */
  oldestRelease: string
  /**
   * The index that this migration creates, if it does nothing else. PostgreSQL builds it before the
   * transaction, so that writes to a large table continue meanwhile.
   */
  index?: string
}

/** In the order of their names. */
export type Migrations = Readonly<Record<string, SchemaMigration>>

type DataType = 'text' | 'integer' | 'bigint'

/** Not null, unless it says otherwise. Several `key` columns are the primary key together. */
export type ColumnType = `${'' | 'key ' | 'unique ' | 'nullable '}${DataType}`

/**
 * Creates a table with these columns, in order. Released migrations depend on it: for the same columns
 * it must always create the same table.
 */
export async function createTable(
  db: Kysely<Tables>,
  name: string,
  columns: Record<string, ColumnType>,
): Promise<void> {
  const entries = Object.entries(columns)
  const key = entries.flatMap(([column, type]) => (type.startsWith('key ') ? [column] : []))
  const table = entries.reduce(
    (before, column) => addColumn(before, column, key.length === 1),
    db.schema.createTable(name) as CreateTableBuilder<string, string>,
  )
  const keyed = key.length === 1 ? table : table.addPrimaryKeyConstraint(`${name}_pk`, key)
  await keyed.execute()
}

function addColumn(
  table: CreateTableBuilder<string, string>,
  [name, type]: [name: string, type: ColumnType],
  isOnlyKey: boolean,
): CreateTableBuilder<string, string> {
  const [word = '', dataType = word] = type.split(' ')
  return table.addColumn(name, dataType as DataType, (column) => {
    if (word === 'nullable') return column
    if (word === 'key' && isOnlyKey) return column.primaryKey()
    return word === 'unique' ? column.notNull().unique() : column.notNull()
  })
}

export type BuildIndex = (index: CreateIndexBuilder) => CreateIndexBuilder<string>
