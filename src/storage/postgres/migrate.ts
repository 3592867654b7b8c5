import { sql } from 'kysely'
import { isMigrated, migrate } from '../migrations/index.ts'
import type { PostgresDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { toStorageError } from './errors.ts'

/** Milliseconds that one step may take, and that a replica waits for another one's steps. */
const stepTimeout = 600_000

/** Any number that every release of Pubring agrees on: "Pubring" in octets, cut to a safe integer. */
const schemaLock = sql.lit(0x50_7562_7269_6e)

/**
 * Brings the schema up to date, where it is not yet, in one transaction, behind a lock that ends with it: of replicas that
 * start at once, one does it and the others find it done.
 */
export async function migratePostgres(sessions: PostgresDatabase): Promise<void> {
  const reading = createKysely(sessions.read)
  if (await isMigrated(reading, await currentSchema(reading))) return
  const transaction = await sessions.begin({ timeout: stepTimeout })
  // What follows the first error within a transaction says only that there was one.
  let first: unknown
  const db = createKysely((statement) =>
    transaction.query<never>(statement).catch((error) => {
      first ??= error
      throw error
    }),
  )
  try {
    await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(db)
    await migrate(db, { transactions: false, schema: await currentSchema(db) })
  } catch (error) {
    await transaction.rollback()
    throw toStorageError(first ?? error)
  }
  await transaction.commit()
}

/** The schema in which unqualified names are made; others may hold tables of other applications. */
export async function currentSchema(db: ReturnType<typeof createKysely>): Promise<string> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(
    db,
  )
  const schema = rows[0]?.schema
  if (typeof schema !== 'string') {
    throw new Error('The database has no schema that this user can use (its search_path is empty).')
  }
  return schema
}
