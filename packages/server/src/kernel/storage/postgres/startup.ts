import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { describeCause } from '../../../errors.ts'
import { present } from '../../../runtime/present.ts'
import { isStorageUnavailable, storageUnavailable } from '../../faults.ts'
import { classify, sqlState } from '../errors.ts'
import { requireSchema } from '../migrations/index.ts'
import { nameOf, type PostgresAddress, type PostgresHost, parsePostgresAddress } from './address.ts'
import { readingSql } from './clock.ts'
import { createKysely, openDatabase, type PostgresDatabase } from './database.ts'
import { type HostFailure, hostFailure, NoUsableHost } from './host-failures.ts'
import { readCurrentSchema } from './migrate.ts'
import type { ServerInfo } from './pool.ts'
import { noAnswer } from './primary.ts'

/** How long a command waits for the database, which may be starting or failing over. */
const startTimeoutMs = 10_000

/** Pause between two attempts to reach it. */
const retryPauseMs = 250

/** The database cannot be used. The message is one line for a person. */
class UnusableDatabase extends Error {
  /** Why the only host that was tried cannot be used. */
  readonly failure: HostFailure | undefined

  constructor(reason: string, failure?: HostFailure) {
    super(`The PostgreSQL database cannot be used. ${reason}.`)
    this.failure = failure
  }
}

/** Waits for the server to respond. Rejects with the reason if the database cannot be used. */
export async function waitUntilUsable(
  database: PostgresDatabase,
  timeoutMs = startTimeoutMs,
): Promise<ServerInfo> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      const info = await database.serverInfo()
      requireUsable(info)
      return info
    } catch (error) {
      const explained = explainStartError(error)
      if (explained instanceof UnusableDatabase) throw explained
      if (performance.now() >= deadline) {
        const cause = error instanceof Error ? error.cause : undefined
        const failure = cause instanceof NoUsableHost ? cause.failures[0] : hostFailure(cause)
        throw new UnusableDatabase(`No host can be used: ${causeOf(error)}`, failure)
      }
    }
    await delay(retryPauseMs)
  }
}

/**
 * Prepares the database as soon as it can be reached, however long that takes. Rejects with the reason if
 * waiting does not help. Never settles after the signal. `onWait` gets the cause of each failed attempt
 * and what a migration waits for, and undefined each time the database is reached.
 */
async function prepareWhenReachable(
  database: PostgresDatabase,
  prepare: Prepare,
  signal: AbortSignal,
  onWait: (cause: string | undefined) => void,
): Promise<void> {
  let isReached = false
  while (!signal.aborted) {
    try {
      requireUsable(await database.serverInfo())
      if (!isReached) onWait(undefined)
      isReached = true
      return await prepare(database, onWait)
    } catch (error) {
      const explained = explainStartError(error)
      if (explained !== error || !isStorageUnavailable(error)) throw explained
      const isAway = error.cause instanceof NoUsableHost || classify(error.cause) === 'lost'
      if (isAway) isReached = false
      onWait(error.cause === noAnswer ? undefined : causeOf(error))
    }
    await delay(retryPauseMs)
  }
  return new Promise(() => {})
}

/** Brings the schema up to date, for example. `onWait` gets what it waits for. */
type Prepare = (database: PostgresDatabase, onWait: (cause: string) => void) => Promise<void>

/**
 * Prepares the database in the background, and rejects reads and writes with `storage_unavailable` until
 * it is done. `prepared` resolves then, and rejects with one line for a person if the database cannot be
 * used.
 */
export function prepareInBackground(raw: PostgresDatabase, prepare: Prepare) {
  const closing = new AbortController()
  let isPrepared = false
  let cause: string | undefined
  const onWait = (reason: string | undefined) => {
    cause = reason
  }
  const prepared = prepareWhenReachable(raw, prepare, closing.signal, onWait).then(() => {
    isPrepared = true
  })
  // The server may still be starting to listen when it fails.
  prepared.catch(() => undefined)
  const whenPrepared = <Arguments extends unknown[], Result>(
    use: (...values: Arguments) => Promise<Result>,
  ) => {
    return async (...values: Arguments): Promise<Result> => {
      if (isPrepared) return use(...values)
      const detail = 'The database is not ready yet. Try again in a few seconds.'
      throw storageUnavailable(detail, undefined, cause)
    }
  }
  const database: PostgresDatabase = {
    ...raw,
    read: whenPrepared(raw.read) as PostgresDatabase['read'],
    begin: whenPrepared(raw.begin),
    close() {
      closing.abort()
      return raw.close()
    },
  }
  return { database, prepared }
}

function requireUsable({ version, encoding }: ServerInfo): void {
  if (version < 140_000) throw unusable('must be PostgreSQL 14 or later')
  if (encoding !== 'UTF8') throw unusable(`must have the encoding UTF8, not ${encoding}`)
}

function unusable(text: string): UnusableDatabase {
  return new UnusableDatabase(`It ${text}`, { kind: 'settings', text })
}

/** Why an attempt has failed, if the database or the network has said so. */
function causeOf(error: unknown): string | undefined {
  return describeCause(error instanceof Error ? (error.cause ?? error) : undefined)
}

/**
 * Replaces an error that waiting does not resolve by one that says what to correct: all hosts reject
 * the settings, or the one that was reached does.
 */
export function explainStartError(error: unknown): unknown {
  const outer = error instanceof Error ? error.cause : undefined
  const cause = sqlState(error) === undefined ? outer : error
  if (cause instanceof NoUsableHost) {
    const isFinal = cause.failures.every(({ kind }) => kind === 'settings')
    return isFinal ? new UnusableDatabase(cause.message, cause.failures[0]) : error
  }
  const { kind, text } = hostFailure(cause)
  return kind === 'settings' ? unusable(text) : error
}

/**
 * Opens an existing database, which servers may be using. Rejects unless its schema is what the
 * caller requires.
 */
export async function openWithoutMigrating(
  url: string,
  requirement = requireSchema,
  minTimeoutMs = 0,
) {
  const address = parsePostgresAddress(url)
  const statementTimeoutMs = Math.max(address.statementTimeoutMs, minTimeoutMs)
  const database = openDatabase({ ...address, statementTimeoutMs }, 'primary')
  try {
    await waitUntilUsable(database)
    const db = createKysely(database.read)
    const schema = await readCurrentSchema(db)
    await requirement(db, schema)
    return { database, db, schema, close: () => database.close() }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** One host of the database. */
export interface HostReport {
  host: string
  role: 'primary' | 'read-only' | 'standby' | 'unavailable'
  /** Why it is unavailable. */
  failure?: HostFailure
  /** Only where the server reports them: bytes in its log of changes, and its connections. */
  position?: number
  connections?: number
  maxConnections?: number
  /** How much its clock is ahead of this machine's. */
  clockSkewMs?: number
  lacks?: Lacks
}

/** The privileges and settings that the server and the user of this host lack. */
interface Lacks {
  /** Settings that are off, and without which changes can be lost with the power. */
  settings?: string
  /** Statements that let the user create tables, migrate them, and use them. */
  create?: string
  migrate?: string
  use?: string
}

const inspectionTimeoutMs = 3_000

const inspectionQuery = sql<
  Record<'position' | 'connections' | 'max_connections' | 'time', number> &
    Record<keyof Lacks, string | null>
>`
  with own as (
    select oid, relname, relowner from pg_class where relkind in ('r', 'p')
    and relnamespace = (select oid from pg_namespace where nspname = current_schema())
  )
  select (case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
    else pg_current_wal_lsn() end - '0/0')::float8 as position,
  (select sum(numbackends) from pg_stat_database)::float8 as connections,
  current_setting('max_connections')::float8 as max_connections,
  ${sql.raw(readingSql)} as time,
  (select string_agg(name, ', ') from pg_settings
    where name in ('fsync', 'full_page_writes') and setting = 'off') as settings,
  case when not has_schema_privilege(current_schema(), 'CREATE') then
    format('grant create on schema %I to %I', current_schema(), current_user) end as create,
  (select format('grant %I to %I', pg_get_userbyid(relowner), current_user) from own
    where relname = 'event' and not pg_has_role(relowner, 'USAGE')) as migrate,
  (select format('grant select, insert, update, delete on all tables in schema %I to %I',
      current_schema(), current_user)
    from own, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as privilege
    where not has_table_privilege(own.oid, privilege) limit 1) as use`

/** Reports on every host of the address. */
export function inspectHosts(url: string): Promise<HostReport[]> {
  const address = parsePostgresAddress(url)
  return Promise.all(address.hosts.map((host) => inspectHost(address, host)))
}

async function inspectHost(address: PostgresAddress, host: PostgresHost): Promise<HostReport> {
  const name = nameOf(host)
  const database = openDatabase({ ...address, hosts: [host] }, 'any')
  try {
    const { isStandby, isReadOnly } = await waitUntilUsable(database, inspectionTimeoutMs)
    const role = isStandby ? 'standby' : isReadOnly ? 'read-only' : 'primary'
    const startTime = Date.now()
    const result = await inspectionQuery.execute(createKysely(database.read)).catch(() => undefined)
    const [row] = result?.rows ?? []
    if (row === undefined) return { host: name, role }
    const { position, connections, max_connections: maxConnections, time, ...facts } = row
    const clockSkewMs = Math.round(time - (startTime + Date.now()) / 2)
    const lacks: Lacks = Object.fromEntries(
      Object.entries(facts).filter(([, missing]) => missing !== null),
    )
    return { host: name, role, position, connections, maxConnections, clockSkewMs, lacks }
  } catch (error) {
    const failure = error instanceof UnusableDatabase ? error.failure : hostFailure(error)
    return { host: name, role: 'unavailable', ...present({ failure }) }
  } finally {
    await database.close()
  }
}
