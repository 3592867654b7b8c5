import { existsSync } from 'node:fs'
import { readSchemaState, type SchemaState } from './migrations/index.ts'
import { isPostgres, sqliteFileOf } from './open.ts'
import type { HostReport } from './postgres/without-migrating.ts'
import { countKeys } from './reads/store.ts'
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

/** Reads the state without changing anything. Rejects if the database cannot be used. */
export async function inspectDatabase(database: {
  databaseUrl: string
  databaseReplicaUrl?: string
}): Promise<DatabaseReport> {
  const { databaseUrl: url, databaseReplicaUrl: replicaUrl } = database
  if (!isPostgres(url)) {
    const report: DatabaseReport = { engine: 'SQLite', hosts: [], schema: 'none' }
    const file = sqliteFileOf(url)
    if (!existsSync(file)) return report
    const { openWithoutMigrating } = await import('./sqlite/without-migrating.ts')
    const { db, close } = await openWithoutMigrating({ file, role: 'reader' }, async () => {})
    return { ...report, ...(await readContent(db).finally(close)) }
  }
  const { inspectHosts, openWithoutMigrating } = await import('./postgres/without-migrating.ts')
  const urls = replicaUrl === undefined ? [url] : [url, replicaUrl]
  const hosts = (await Promise.all(urls.map(inspectHosts))).flat()
  const report: DatabaseReport = { engine: 'PostgreSQL', hosts }
  if (!hosts.some(({ role }) => role === 'primary' || role === 'read-only')) return report
  const opened = await openWithoutMigrating(url, async () => {})
  const reading = readContent(opened.db, opened.schema)
  return { ...report, ...(await reading.finally(() => opened.database.close())) }
}

async function readContent(
  db: Db,
  name?: string,
): Promise<Pick<DatabaseReport, 'schema' | 'keys'>> {
  const schema = await readSchemaState(db, name)
  if (schema === 'none' || schema === 'older') return { schema }
  const counts = await countKeys(db, new Date().toISOString()).catch(() => undefined)
  if (counts === undefined) return { schema }
  const keys = { active: 0, inactive: 0 }
  for (const { enabled, expired, count } of counts) {
    keys[enabled && !expired ? 'active' : 'inactive'] += count
  }
  return { schema, keys }
}
