import { existsSync } from 'node:fs'
import { describeCause } from '../../errors.ts'
import type { KeyCount } from '../records.ts'
import { readSchemaState, type SchemaState } from './migrations/index.ts'
import { isPostgres, openReads, sqliteFileOf } from './open.ts'
import type { HostReport } from './postgres/startup.ts'
import type { Db } from './schema.ts'

/** The state of a database, which servers may be using. */
export interface DatabaseReport {
  engine: 'SQLite' | 'PostgreSQL'
  /** Empty for SQLite. */
  hosts: HostReport[]
  /** Absent if no host can be read. */
  schema?: SchemaState
  /** Why the content cannot be read, although a host accepts changes. */
  problem?: string
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
    const { inspectHosts } = await import('./postgres/startup.ts')
    const urls = replicaUrl === undefined ? [url] : [url, replicaUrl]
    report.hosts = (await Promise.all(urls.map(inspectHosts))).flat()
    report.engine = 'PostgreSQL'
    if (!report.hosts.some(({ role }) => /^(primary|read-only)$/.test(role))) return report
  } else if (!existsSync(sqliteFileOf(url))) {
    return { ...report, schema: 'none' }
  }
  if (!isPostgres(url)) return { ...report, ...(await readContent(url, countKeys)) }
  const content = await readContent(url, countKeys).catch((error) => ({
    problem: describeCause(error) ?? 'it cannot be read',
  }))
  return { ...report, ...content }
}

/** Also examines the whole file of SQLite. */
async function readContent(
  url: string,
  countKeys?: CountKeys,
): Promise<Pick<DatabaseReport, 'schema' | 'keys'>> {
  const { db, schema, close } = await openReads(url, async (reads) => {
    if (isPostgres(url)) return
    const { requireIntact } = await import('./sqlite/opening.ts')
    await requireIntact(reads, sqliteFileOf(url))
  })
  return countContent(db, schema, countKeys).finally(close)
}

async function countContent(
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
