import { type Migration, Migrator } from 'kysely/migration'
import type { Db } from '../schema.ts'
import { core } from './0001-core.ts'
import { keyAudit } from './0002-key-audit.ts'
import { keyCensus } from './0003-key-census.ts'
import { kids } from './0004-kids.ts'

/**
 * In order, forward only, never edited once released. Each leaves a schema with which the previous
 * release still works.
 */
const migrations: Record<string, Migration> = {
  '0001-core': core,
  '0002-key-audit': keyAudit,
  '0003-key-census': keyCensus,
  '0004-kids': kids,
}

/**
 * Brings the schema up to date, in a transaction of the caller. Throws if a newer release has
 * migrated the database. `schema`: the PostgreSQL schema that holds the tables.
 */
export async function migrate(db: Db, schema?: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    disableTransactions: true,
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  })
  await readExecuted(db, schema)
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/** Throws unless the schema is exactly that of this release. */
export async function requireSchema(db: Db, schema?: string): Promise<void> {
  const executed = await readExecuted(db, schema)
  if (executed.length === 0) throw new Error('The database is not one of Pubring.')
  if (executed.length < Object.keys(migrations).length) {
    throw new Error('The database was written by an older Pubring. Start this release on it first.')
  }
}

/** Whether the schema is up to date. Throws if a newer release has migrated the database. */
export async function isMigrated(db: Db, schema?: string): Promise<boolean> {
  return (await readExecuted(db, schema)).length === Object.keys(migrations).length
}

/** The names of the executed migrations. Throws if this release does not know one of them. */
async function readExecuted(db: Db, schema: string | undefined): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const isMigrationTable = (table: { name: string; schema?: string }) =>
    table.name === 'kysely_migration' && (schema === undefined || table.schema === schema)
  if (!tables.some(isMigrationTable)) return []
  const rows = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .execute()
  const names = rows.map((row) => row.name)
  const unknown = names.filter((name) => !(name in migrations))
  if (unknown.length > 0) {
    throw new Error(
      `The database was written by a newer Pubring (it has the migration ${unknown.join(', ')}). Start that release, or restore a backup of this one.`,
    )
  }
  return names
}
