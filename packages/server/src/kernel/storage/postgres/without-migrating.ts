import { sql } from 'kysely'
import { present } from '../../../runtime/present.ts'
import { requireSchema } from '../migrations/index.ts'
import { nameOf, type PostgresAddress, type PostgresHost, parsePostgresAddress } from './address.ts'
import { openDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { type HostFailure, hostFailure } from './host-failures.ts'
import { readCurrentSchema } from './migrate.ts'
import { UnusableDatabase, waitUntilUsable } from './startup.ts'

/**
 * Opens an existing database, which servers may be using. Rejects unless its schema is what the
 * caller requires.
 */
export async function openWithoutMigrating(url: string, requirement = requireSchema) {
  const database = openDatabase(parsePostgresAddress(url), 'primary')
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

/** What the server and the user of this host lack. */
export interface Lacks {
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
  select (case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
    else pg_current_wal_lsn() end - '0/0')::float8 as position,
  (select sum(numbackends) from pg_stat_database)::float8 as connections,
  current_setting('max_connections')::float8 as max_connections,
  extract(epoch from clock_timestamp())::float8 * 1000 as time,
  (select string_agg(name, ', ') from pg_settings
    where name in ('fsync', 'full_page_writes') and setting = 'off') as settings,
  case when not has_schema_privilege(current_schema(), 'CREATE') then
    format('grant create on schema %I to %I', current_schema(), current_user) end as create,
  (select format('grant %I to %I', relowner::regrole, current_user) from pg_class
    where oid = to_regclass('event') and not pg_has_role(relowner, 'USAGE')) as migrate,
  case when not has_table_privilege(to_regclass('event')::oid, 'INSERT') then
    format('grant select, insert, update, delete on all tables in schema %I to %I',
      current_schema(), current_user) end as use`

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
