import { existsSync } from 'node:fs'
import type { KeyCount } from '../records.ts'
import { readSchemaState, type SchemaState } from './migrations/index.ts'
import { isPostgres, openReads, sqliteFileOf } from './open.ts'
import type { HostReport } from './postgres/without-migrating.ts'
import type { Db } from './schema.ts'

/** The state of a database, which servers may be using. */
export interface DatabaseReport {
  engine: 'SQLite' | 'PostgreSQL'
  /** Empty for SQLite. */
  hosts: HostReport[]
  /** Absent if no host can be read. */
  schema?: SchemaState
  /** Absent if the schema is not up to date, or counting takes too long. */
  keys?: { active: number; inactive: number }
}

/** Counts keys of each state at the time (ISO 8601). */
type CountKeys = (db: Db, time: string) => Promise<KeyCount[]>

/** Reads the state without changing anything. Rejects if the database cannot be used. */
export async function inspectDatabase(
  database: { databaseUrl: string; databaseReplicaUrl?: string },
  countKeys?: CountKeys,
): Promise<DatabaseReport> {
  const { databaseUrl: url, databaseReplicaUrl: replicaUrl } = database
  const report: DatabaseReport = { engine: 'SQLite', hosts: [] }
  if (isPostgres(url)) {
    const { inspectHosts } = await import('./postgres/without-migrating.ts')
    const urls = replicaUrl === undefined ? [url] : [url, replicaUrl]
    report.hosts = (await Promise.all(urls.map(inspectHosts))).flat()
    report.engine = 'PostgreSQL'
    if (!report.hosts.some(({ role }) => /^(primary|read-only)$/.test(role))) return report
  } else if (!existsSync(sqliteFileOf(url))) {
    return { ...report, schema: 'none' }
  }
  const { db, schema, close } = await openReads(url, async () => {})
  return { ...report, ...(await readContent(db, schema, countKeys).finally(close)) }
}

async function readContent(
  db: Db,
  name: string | undefined,
  countKeys?: CountKeys,
): Promise<Pick<DatabaseReport, 'schema' | 'keys'>> {
  const schema = await readSchemaState(db, name)
  if (schema === 'none' || schema === 'older') return { schema }
  const counts = await countKeys?.(db, new Date().toISOString()).catch(() => undefined)
  if (counts === undefined) return { schema }
  const keys = { active: 0, inactive: 0 }
  for (const { enabled, expired, count } of counts) {
    keys[enabled && !expired ? 'active' : 'inactive'] += count
  }
  return { schema, keys }
}
