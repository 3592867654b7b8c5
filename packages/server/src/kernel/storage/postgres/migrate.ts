import { setTimeout as delay } from 'node:timers/promises'
import { type QueryResult, sql } from 'kysely'
import { storageUnavailable } from '../../faults.ts'
import { classify, sqlState, toStorageError } from '../errors.ts'
import type { Migrations } from '../migrations/building.ts'
import { migrate, readPending } from '../migrations/index.ts'
import type { Db } from '../schema.ts'
import { createKysely, type PostgresDatabase, UnconfirmedCommit } from './database.ts'
import type { Statement } from './leases.ts'

/** Limit for a statement, such as the build of an index, and for waiting for another server. */
const timeoutMs = 6 * 3_600_000

/**
 * Everything else that uses the table waits behind a statement that waits for its lock. So the wait is
 * short, and the pause before the next one long.
 */
const lockTimeoutMs = 100
const retryPauseMs = 1_000

/** How often to ask whether another server has finished, and who blocks an index. */
const pollMs = 500
const maxPollMs = 5_000
const blockersTimeoutMs = 2_000

/** A fixed number for all releases: "Pubring" in ASCII, truncated to a safe integer. */
const schemaLock = sql.lit(0x50_7562_7269_6e)

/** Gets what a migration waits for. */
type OnWait = (cause: string) => void

/**
 * Brings the schema up to date, if it is not: a new database in one transaction, another one with a
 * transaction for each statement, so that a server of the previous release never waits for longer than
 * one of them takes. What was interrupted is resumed by the next call. Servers that start at the same
 * time wait for each other.
 */
export async function migratePostgres(
  database: PostgresDatabase,
  migrations: Migrations,
  onWait: OnWait = () => {},
): Promise<void> {
  const reads = createKysely(database.read)
  const schema = await readCurrentSchema(reads)
  if ((await readPending(reads, migrations, schema)).length === 0) return
  try {
    await underSchemaLock(database, onWait, async () => {
      const { length } = await readPending(reads, migrations, schema)
      if (length === Object.keys(migrations).length) {
        await migrateInTransaction(database, migrations, schema)
      } else {
        const db = createKysely((statement) => runStep(database, schema, statement, onWait))
        await migrate(db, migrations, schema)
      }
    })
  } catch (error) {
    throw toMigrationError(error)
  }
}

/** Turns what may pass into `storage_unavailable`; a statement that cannot succeed ends the start. */
function toMigrationError(error: unknown): unknown {
  if (error instanceof UnconfirmedCommit) {
    return storageUnavailable('A change of the tables was not confirmed.', undefined, error)
  }
  const mayPass = ['lost', 'read-only', 'full', 'unavailable'].includes(classify(error))
  return mayPass || sqlState(error)?.startsWith('40') ? toStorageError(error) : error
}

/**
 * Polls, because a statement that waited for the lock would keep an index from being built; each time
 * in a transaction of its own, since a pooler may have no other connection for the server that works.
 */
async function underSchemaLock(
  database: PostgresDatabase,
  onWait: OnWait,
  work: () => Promise<void>,
): Promise<void> {
  const tryLock = sql<{
    locked: boolean
  }>`select pg_try_advisory_xact_lock(${schemaLock}) as locked`
  const workIfLocked = async (db: Db) => {
    const { rows } = await tryLock.execute(db)
    if (rows[0]?.locked !== true) return false
    await work()
    return true
  }
  while (!(await database.inTransaction({ timeoutMs }, workIfLocked))) {
    onWait('another server changes its tables')
    await delay(pollMs)
  }
}

/** For a database that nothing uses yet. */
async function migrateInTransaction(
  database: PostgresDatabase,
  migrations: Migrations,
  schema: string,
): Promise<void> {
  const transaction = await database.begin({ timeoutMs })
  // Later errors in the transaction only say that there was an earlier one.
  let firstError: unknown
  const db = createKysely((statement) =>
    transaction.query<never>(statement).catch((error) => {
      firstError ??= error
      throw error
    }),
  )
  try {
    await migrate(db, migrations, schema)
  } catch (error) {
    await transaction.rollback()
    throw firstError ?? error
  }
  await transaction.commit()
}

/** Runs a statement as soon as it gets its lock, and builds an index without keeping out writes. */
async function runStep<Row>(
  database: PostgresDatabase,
  schema: string,
  statement: Statement,
  onWait: OnWait,
): Promise<QueryResult<Row>> {
  const [, index] =
    /^create (?:unique )?index (?:if not exists )?"?(\w+)"?/.exec(statement.sql) ?? []
  if (index !== undefined) {
    const qualified = [schema, index].map((part) => `"${part.replaceAll('"', '""')}"`).join('.')
    await buildIndex(database, qualified, statement, onWait)
    return { rows: [] }
  }
  for (;;) {
    const result = await attempt<Row>(database, statement, onWait)
    if (result !== 'blocked') return result
    await delay(retryPauseMs * (0.5 + Math.random()))
  }
}

/** A column, table or index that exists: the statement was run before an interruption. */
const existingStates = ['42701', '42P07', '42710']

async function attempt<Row>(
  database: PostgresDatabase,
  statement: Statement,
  onWait: OnWait,
): Promise<QueryResult<Row> | 'blocked'> {
  const transaction = await database.begin({ timeoutMs, lockTimeoutMs })
  let result: QueryResult<Row>
  try {
    const running = transaction.query<Row>(statement)
    result = await namingBlockers(database, statement, running, onWait)
  } catch (error) {
    await transaction.rollback()
    const state = sqlState(error) ?? ''
    if (existingStates.includes(state)) return { rows: [] }
    if (state === '55P03') return 'blocked'
    throw error
  }
  await transaction.commit()
  return result
}

/**
 * An interrupted build leaves an index that is not valid. It is dropped, and built again. `name`: with
 * the schema, since others of the search path may have an index of the same name.
 */
async function buildIndex(
  database: PostgresDatabase,
  name: string,
  statement: Statement,
  onWait: OnWait,
): Promise<void> {
  const query = sql<{ valid: boolean }>`select indisvalid as valid from pg_index
    where indexrelid = to_regclass(${name})`
  const { rows } = await query.execute(createKysely(database.read))
  if (rows[0]?.valid === true) return
  const run = (text: string) => {
    const statement = { sql: text, parameters: [] }
    const running = database.runAlone(statement, timeoutMs)
    return namingBlockers(database, statement, running, onWait)
  }
  if (rows.length > 0) await run(`drop index concurrently ${name}`)
  await run(statement.sql.replace(/ index /, ' index concurrently '))
}

/**
 * Reports which transactions the statement waits for, if it waits. Asks on connections of its own: the
 * lock of the schema and the statement may have all those of the pool.
 */
async function namingBlockers<Result>(
  database: PostgresDatabase,
  { sql: text }: Statement,
  running: Promise<Result>,
  onWait: OnWait,
): Promise<Result> {
  const ended = new AbortController()
  const db = createKysely((query) => database.runAlone(query, blockersTimeoutMs))
  const watch = async () => {
    for (let pauseMs = lockTimeoutMs / 2; ; pauseMs = Math.min(2 * pauseMs, maxPollMs)) {
      await delay(pauseMs, undefined, { signal: ended.signal, ref: false })
      // Some databases with PostgreSQL's protocol do not tell.
      const { rows } = await blockersOf(text)
        .execute(db)
        .catch(() => ({ rows: [] }))
      const blockers = rows.map(
        ({ pid, application, since }) => `pid ${pid} (${application || 'unnamed'}, since ${since})`,
      )
      if (blockers.length > 0) onWait(`a change of its tables waits for ${blockers.join(', ')}`)
    }
  }
  // Ends with the abort.
  watch().catch(() => undefined)
  return running.finally(() => ended.abort())
}

const blockersOf = (text: string) => sql<{ pid: number; application: string; since: string }>`
  select distinct blocker.pid, blocker.application_name as application,
    coalesce(to_char(blocker.xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'unknown') as since
  from pg_stat_activity as waiting
  cross join lateral unnest(pg_blocking_pids(waiting.pid)) as blocking (pid)
  join pg_stat_activity as blocker on blocker.pid = blocking.pid
  where waiting.datname = current_database() and waiting.wait_event_type = 'Lock'
  and left(waiting.query, 500) = left(${text}, 500)`

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
