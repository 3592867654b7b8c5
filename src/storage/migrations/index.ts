import type { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Tables } from '../schema.ts'
import { core } from './0001-core.ts'
import { keyAudit } from './0002-key-audit.ts'
import { keyCensus } from './0003-key-census.ts'
import { kids } from './0004-kids.ts'

/**
 * In order, forward only, never edited once released; each must leave a schema that the release
 * before it can still work with.
 */
const migrations: Record<string, Migration> = {
  '0001-core': core,
  '0002-key-audit': keyAudit,
  '0003-key-census': keyCensus,
  '0004-kids': kids,
}

/**
 * Brings the schema up to date. Throws where the database was written by a newer release, whose
 * schema this one does not know.
 */
export async function migrate(
  db: Kysely<Tables>,
  options: { transactions: boolean; schema?: string },
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    disableTransactions: !options.transactions,
    ...(options.schema === undefined ? {} : { migrationTableSchema: options.schema }),
  })
  refuseUnknown(await executedMigrations(db, options.schema))
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/** For those who only read: throws unless the schema is exactly that of this release. */
export async function requireSchema(db: Kysely<Tables>, schema?: string): Promise<void> {
  const executed = await executedMigrations(db, schema)
  refuseUnknown(executed)
  if (executed.length === 0) throw new Error('The database is not one of Pubring.')
  if (executed.length < Object.keys(migrations).length) {
    throw new Error('The database was written by an older Pubring. Start this release on it first.')
  }
}

/** Whether there is nothing to migrate; throws where the database was written by a newer release. */
export async function isMigrated(db: Kysely<Tables>, schema?: string): Promise<boolean> {
  const executed = await executedMigrations(db, schema)
  refuseUnknown(executed)
  return executed.length === Object.keys(migrations).length
}

function refuseUnknown(executed: readonly string[]): void {
  const unknown = executed.filter((name) => !(name in migrations))
  if (unknown.length > 0) {
    throw new Error(
      `The database was written by a newer Pubring (it has the schema step ${unknown.join(', ')}). Start that release, or restore a backup of this one.`,
    )
  }
}

/** `schema`: the one that is used, where a database has several. */
async function executedMigrations(db: Kysely<Tables>, schema?: string): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const isOurs = (table: { name: string; schema?: string }) =>
    table.name === 'kysely_migration' && (schema === undefined || table.schema === schema)
  if (!tables.some(isOurs)) return []
  const rows = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .execute()
  return rows.map((row) => row.name)
}
