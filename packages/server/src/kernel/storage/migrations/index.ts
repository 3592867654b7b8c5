import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { present } from '../../../runtime/present.ts'
import { readVersion } from '../../../runtime/version.ts'
import { postgresTables, requireOwnTables, sqliteTables } from '../identity.ts'
import type { Db } from '../schema.ts'
import { createTables } from './0001-tables.ts'
import type { Migrations, SchemaMigration } from './building.ts'

/**
 * In order, forward only, never edited once released. Each leaves a schema with which the previous
 * release still works, and names the oldest one that does.
 */
export const ownMigrations: Migrations = {
  '0001-tables': createTables,
}

const ownNames = Object.keys(ownMigrations)

/** Kysely's own table. */
type MigrationTables = { kysely_migration: { name: string } }

/** The names of the migrations that the database lacks, in order. Throws if it excludes this release. */
export async function readPending(
  db: Db,
  migrations: Migrations,
  schema?: string,
): Promise<string[]> {
  const names = Object.keys(migrations)
  const executed = await readExecuted(db, schema, names)
  return names.filter((name) => !executed.includes(name))
}

/**
 * Brings the schema up to date. Throws if a newer release has migrated the database and this one cannot
 * run beside it. `schema`: the PostgreSQL schema that holds the tables.
 */
export async function migrate(db: Db, migrations: Migrations, schema?: string): Promise<void> {
  if ((await readPending(db, migrations, schema)).length === 0) return
  const recorded = Object.entries(migrations).map(([name, migration]): [string, Migration] => [
    name,
    { up: (each: Db) => runAndRecord(each, name, migration) },
  ])
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(recorded) },
    disableTransactions: true,
    ...present({ migrationTableSchema: schema }),
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

/** The oldest release is there before Kysely records the migration, after which others look it up. */
async function runAndRecord(
  db: Db,
  name: string,
  { up, oldestRelease }: SchemaMigration,
): Promise<void> {
  await up(db)
  await db
    .insertInto('migration_release')
    .values({ name, oldest_release: oldestRelease })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

/** `newer`: this release can run beside the one that migrated it. */
export type SchemaState = 'none' | 'older' | 'current' | 'newer'

/** How the schema relates to this release. Throws if this release cannot use it. */
export async function readSchemaState(db: Db, schema?: string): Promise<SchemaState> {
  const executed = await readExecuted(db, schema)
  if (executed.length === 0) return 'none'
  if (ownNames.some((name) => !executed.includes(name))) return 'older'
  return executed.every((name) => ownNames.includes(name)) ? 'current' : 'newer'
}

/** Throws unless this release can use the schema as it is. */
export async function requireSchema(db: Db, schema?: string): Promise<void> {
  const state = await readSchemaState(db, schema)
  if (state === 'none') throw new Error('The database is empty: it holds no registry.')
  if (state === 'older') {
    throw new Error('The database was written by an older Pubring. Start this release on it first.')
  }
}

/** As `requireSchema`; also throws if a newer release may have stored what this one does not know. */
export async function requireOwnSchema(db: Db, schema?: string): Promise<void> {
  await requireSchema(db, schema)
  const newer = (await readExecuted(db, schema)).filter((name) => !ownNames.includes(name))
  if (newer.length === 0) return
  throw new Error(
    `The database was migrated by a newer Pubring (${newer.join(', ')}), which stores what this release would leave out. Use that release.`,
  )
}

/**
 * The names of the executed migrations; none for an empty database. Throws if the tables are those of
 * another program, and if a migration excludes this release.
 */
async function readExecuted(
  db: Db,
  schema: string | undefined,
  known = ownNames,
): Promise<string[]> {
  const query =
    schema === undefined ? sql.raw<{ name: string }>(sqliteTables) : postgresTables(schema)
  const { rows } = await query.execute(db)
  const tables = rows.map(({ name }) => name)
  requireOwnTables(schema === undefined ? 'The database' : `The schema “${schema}”`, tables)
  if (tables.length === 0) return []
  const own = db.withTables<MigrationTables>()
  const executed = await own.selectFrom('kysely_migration').select('name').execute()
  const names = executed.map(({ name }) => name)
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return names
  const recorded = await db
    .selectFrom('migration_release')
    .selectAll()
    .where('name', 'in', unknown)
    .execute()
  for (const name of unknown) {
    requireRelease(name, recorded.find((row) => row.name === name)?.oldest_release)
  }
  return names
}

/** Throws unless the release that a newer migration requires is known, and this one is recent enough. */
function requireRelease(name: string, oldest: string | undefined): void {
  const version = readVersion()
  if (oldest !== undefined && compareReleases(version, oldest) >= 0) return
  const [needed, reason] =
    oldest === undefined ? ['that release', ''] : [`${oldest} or later`, `, and this is ${version}`]
  throw new Error(
    `The database was written by a newer Pubring (it has the migration ${name})${reason}. Start ${needed}, or restore a backup of this one.`,
  )
}

/** Numbers by their value: 0.10.0 is newer than 0.9.0. */
function compareReleases(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
