import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { toStorageError } from '../errors.ts'
import type { Migrations } from '../migrations/building.ts'
import { migrate, readPendingSteps } from '../migrations/index.ts'
import type { Db } from '../schema.ts'
import { createKysely, type PostgresDatabase } from './database.ts'

/** Limit for one step, and for waiting until another replica has finished. */
const stepTimeoutMs = 600_000

/** Limit for building an index, and for waiting until another replica has. */
const indexTimeoutMs = 6 * 3_600_000
const indexPollMs = 500

/** Fixed numbers for all releases: "Pubring" in ASCII, truncated to a safe integer, and the next. */
const schemaLock = sql.lit(0x50_7562_7269_6e)
const indexLock = sql.lit(0x50_7562_7269_6f)

/**
 * Brings the schema up to date, if it is not: a new database in one transaction, another one with a
 * transaction for each migration. What was interrupted is resumed by the next call. Replicas that
 * start at the same time wait for each other.
 */
export async function migratePostgres(
  database: PostgresDatabase,
  migrations: Migrations,
): Promise<void> {
  const reads = createKysely(database.read)
  const schema = await readCurrentSchema(reads)
  for (const { last, index } of await readPendingSteps(reads, schema, migrations)) {
    if (index !== undefined) {
      await underIndexLock(database, () => buildIndex(database, index)).catch((error) => {
        throw toStorageError(error)
      })
    }
    await migrateInTransaction(database, migrations, last)
  }
}

/** A lock that ends with the transaction makes other replicas wait. */
async function migrateInTransaction(
  database: PostgresDatabase,
  migrations: Migrations,
  last: string,
): Promise<void> {
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
    await migrate(db, migrations, { schema: await readCurrentSchema(db), last })
  } catch (error) {
    await transaction.rollback()
    throw toStorageError(firstError ?? error)
  }
  await transaction.commit()
}

/** Polls, because a statement that waited for the lock would keep the build from ending. */
async function underIndexLock(
  database: PostgresDatabase,
  work: () => Promise<void>,
): Promise<void> {
  const tryLock = sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${indexLock}) as locked`
  await database.inTransaction({ timeoutMs: indexTimeoutMs }, async (db) => {
    while ((await tryLock.execute(db)).rows[0]?.locked !== true) await delay(indexPollMs)
    await work()
  })
}

/** An interrupted build leaves an index that is not valid. It is dropped, and built again. */
async function buildIndex(
  database: PostgresDatabase,
  { name, up }: { name: string; up(db: Db): Promise<void> },
): Promise<void> {
  const query = sql<{ valid: boolean }>`select indisvalid as valid from pg_index
    where indexrelid = to_regclass(${name})`
  const { rows } = await query.execute(createKysely(database.read))
  if (rows[0]?.valid === true) return
  const run = (text: string) => database.runAlone(text, indexTimeoutMs)
  if (rows.length > 0) await run(`drop index concurrently ${name}`)
  const db = createKysely(async (statement) => {
    await run(statement.sql.replace('create index', 'create index concurrently'))
    return { rows: [] }
  })
  await up(db)
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
