import type { CreateIndexBuilder, CreateTableBuilder, Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

export interface SchemaMigration extends Migration {
  /** Recorded in the database: an older release does not start on the schema. */
  oldestRelease: string
  /**
   * Of a migration that does nothing but create this index, if it does not exist, on a table that may
   * be large. PostgreSQL builds it before the transaction, so that writes continue meanwhile.
   */
  index?: string
}

type DataType = 'text' | 'integer' | 'bigint'

/** Not null, unless it says otherwise. Several `key` columns are the primary key together. */
type ColumnType = `${'' | 'key ' | 'unique ' | 'nullable '}${DataType}`

type Column = [name: string, type: ColumnType]

/** Constraints that span columns, by name. */
type UniqueConstraints = Record<string, string[]>

/**
 * Creates a table with these columns, in order. Released migrations depend on it: for the same columns
 * it must always create the same table.
 */
export async function createTable(
  db: Kysely<Tables>,
  name: string,
  columns: Record<string, ColumnType>,
  unique: UniqueConstraints = {},
): Promise<void> {
  const entries = Object.entries(columns)
  const key = entries.flatMap(([column, type]) => (type.startsWith('key ') ? [column] : []))
  const table = entries.reduce(
    (before, column) => addColumn(before, column, key.length === 1),
    db.schema.createTable(name) as CreateTableBuilder<string, string>,
  )
  const keyed = key.length === 1 ? table : table.addPrimaryKeyConstraint(`${name}_pk`, key)
  await Object.entries(unique)
    .reduce((before, [constraint, names]) => before.addUniqueConstraint(constraint, names), keyed)
    .execute()
}

function addColumn(
  table: CreateTableBuilder<string, string>,
  [name, type]: Column,
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

/** The migration that creates an index of an existing table. */
export function indexMigration(name: string, build: BuildIndex): SchemaMigration {
  return {
    async up(db: Kysely<Tables>) {
      await build(db.schema.createIndex(name).ifNotExists()).execute()
    },
    oldestRelease: '0.1.0',
    index: name,
  }
}
