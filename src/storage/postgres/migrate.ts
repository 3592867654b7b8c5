import { sql } from 'kysely'
import { isMigrated, migrate } from '../migrations/index.ts'
import type { Db } from '../schema.ts'
import type { PostgresDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { toStorageError } from './errors.ts'

/** Limit for one step, and for waiting until another replica has finished. */
const stepTimeoutMs = 600_000

/** A fixed number for all releases: "Pubring" in ASCII, truncated to a safe integer. */
const schemaLock = sql.lit(0x50_7562_7269_6e)

/**
 * Brings the schema up to date in one transaction, if it is not. A lock that ends with the
 * transaction makes other replicas that start at the same time wait.
 */
export async function migratePostgres(database: PostgresDatabase): Promise<void> {
  const reads = createKysely(database.read)
  if (await isMigrated(reads, await readCurrentSchema(reads))) return
  const transaction = await database.begin({ timeoutMs: stepTimeoutMs })
  // Later errors in the transaction only say that there was an earlier one.
  let firstError: unknown
  const db = createKysely((statement) =>
    transaction.query<never>(statement).catch((error) => {
      firstError ??= error
      throw error
    }),
  )
  try {
    await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(db)
    await migrate(db, await readCurrentSchema(db))
  } catch (error) {
    await transaction.rollback()
    throw toStorageError(firstError ?? error)
  }
  await transaction.commit()
}

/** The schema for unqualified names. The other schemas may belong to other applications. */
export async function readCurrentSchema(db: Db): Promise<string> {
  const query = sql<{ schema: string | null }>`select current_schema() as schema`
  const { rows } = await query.execute(db)
  const schema = rows[0]?.schema
  if (typeof schema !== 'string') {
    throw new Error('The database has no schema that this user can use (its search_path is empty).')
  }
  return schema
}
