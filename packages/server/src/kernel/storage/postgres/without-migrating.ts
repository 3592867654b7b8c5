import { sql } from 'kysely'
import { requireSchema } from '../migrations/index.ts'
import { nameOf, type PostgresAddress, type PostgresHost, parsePostgresAddress } from './address.ts'
import { openDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { readCurrentSchema } from './migrate.ts'
import { waitUntilUsable } from './startup.ts'

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
  reason?: string
  /** Only where the server reports them: bytes in its log of changes, and its connections. */
  position?: number
  connections?: number
  maxConnections?: number
  /** How much its clock is ahead of this machine's. */
  clockSkewMs?: number
}

const inspectionTimeoutMs = 3_000

const inspectionQuery = sql<
  Record<'position' | 'connections' | 'max_connections' | 'time', number>
>`
  select (case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
    else pg_current_wal_lsn() end - '0/0')::float8 as position,
  (select sum(numbackends) from pg_stat_database)::float8 as connections,
  current_setting('max_connections')::float8 as max_connections,
  extract(epoch from clock_timestamp())::float8 * 1000 as time`

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
    const { position, connections, max_connections: maxConnections, time } = row
    const clockSkewMs = Math.round(time - (startTime + Date.now()) / 2)
    return { host: name, role, position, connections, maxConnections, clockSkewMs }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { host: name, role: 'unavailable', reason }
  } finally {
    await database.close()
  }
}
