import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { type ColumnKind, keyColumnsOf, plainKind, type Tables } from '../schema.ts'
import { hasOtherWriters } from '../statements.ts'

/**
 * Builds upon a schema that servers of the previous release are using. On PostgreSQL, each statement
 * has a transaction and a lock of its own, and runs again after an interruption; indexes are built while
 * writes continue.
 */
export interface SchemaMigration extends Migration {
  /** Recorded in the database: an older release does not start on the schema. */
  oldestRelease: string
}

/** Migrations run in the order of their names. */
export type Migrations = Readonly<Record<string, SchemaMigration>>

/**
 * The type of a column: booleans are 0 or 1, and JSON is text. On PostgreSQL, text compares byte by byte
 * with any collation of the database, so that indexes survive an upgrade of the system's collations.
 */
export function dataType(db: Kysely<Tables>, kind: ColumnKind) {
  const plain = plainKind(kind)
  if (plain === 'bigint') return plain
  if (plain === 'boolean' || plain === 'integer') return 'integer'
  return hasOtherWriters(db) ? sql`text collate "C"` : 'text'
}

/**
 * Creates a table with these columns, in order. Released migrations depend on it: for the same columns
 * it must always create the same table.
 */
export async function createTable(
  db: Kysely<Tables>,
  name: string,
  columns: Readonly<Record<string, ColumnKind>>,
): Promise<void> {
  let table: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const [column, kind] of Object.entries(columns)) {
    table = table.addColumn(column, dataType(db, kind), (built) => {
      const required = kind.startsWith('nullable ') ? built : built.notNull()
      return kind.startsWith('unique ') ? required.unique() : required
    })
  }
  await table.addPrimaryKeyConstraint(`${name}_pk`, keyColumnsOf(columns)).execute()
}
