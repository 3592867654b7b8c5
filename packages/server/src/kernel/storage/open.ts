import { describeCause } from '../../errors.ts'
import { requireRegularFile } from '../../runtime/files.ts'
import { findProjectRecord } from '../access/stored-projects.ts'
import type { Store } from '../context.ts'
import {
  type Feature,
  loadAppliers,
  loadCensus,
  subjectsOf,
  tablesOf,
  verifyTablesOf,
} from '../feature.ts'
import { createLedgerReads, type LedgerReader } from '../ledger/reads.ts'
import type { KeyCount } from '../records.ts'
import type { CopyListener } from './copy.ts'
import { isPostgres } from './database-url.ts'
import { readSchemaState, requireSchema, type SchemaState } from './migrations/index.ts'
import type { HostReport } from './postgres/startup.ts'
import type { Db } from './schema.ts'
import type { Threads } from './sqlite/store.ts'

/** The store of a server. */
interface ServerStore {
  /** Rejects every use with `storage_unavailable` until it is prepared. */
  store: Store
  /**
   * Resolves once the schema is known to be that of this release, which may take as long as an
   * outage of PostgreSQL. Rejects with one line for a person if the database cannot be used.
   */
  prepared: Promise<void>
}

/** Opens databases with these features. */
export function storageOf(features: readonly Feature[], threads: Threads) {
  const tables = tablesOf(features)
  const subjects = subjectsOf(features)
  const verifyTables = verifyTablesOf(features)
  const names = {
    people: features.find((each) => each.people !== undefined)?.people,
    readNotes: features.find((each) => each.readNotes !== undefined)?.readNotes,
  }
  const loadParts = async () => {
    const [appliers, takeCensus] = [await loadAppliers(features), await loadCensus(features)]
    return { appliers, takeCensus, tables, names }
  }

  /**
   * Opens the store at `sqlite:PATH` or `postgres://…`. Loads only the engine that is used. `onWait` gets
   * what a migration waits for.
   */
  async function openStore(databaseUrl: string, onWait?: (cause: string) => void): Promise<Store> {
    if (isPostgres(databaseUrl)) {
      const { openPostgresStore } = await import('./postgres/store.ts')
      return openPostgresStore(await loadParts(), databaseUrl, onWait)
    }
    const { openSqliteStore } = await import('./sqlite/store.ts')
    return openSqliteStore({ file: sqliteFileOf(databaseUrl), threads, tables, names })
  }

  /**
   * Opens the store for a server, which can listen before PostgreSQL can be reached. `replicaUrl`:
   * PostgreSQL standbys, from which published key sets may be read.
   */
  async function openServerStore(databaseUrl: string, replicaUrl?: string): Promise<ServerStore> {
    if (isPostgres(databaseUrl)) {
      const { openPostgresServerStore } = await import('./postgres/store.ts')
      return openPostgresServerStore(await loadParts(), databaseUrl, replicaUrl)
    }
    return { store: await openStore(databaseUrl), prepared: Promise.resolve() }
  }

  /**
   * Opens an existing store whose schema is that of this release, so that a mistyped path does not
   * create a new registry. Servers may be using it.
   */
  async function openExistingStore(databaseUrl: string): Promise<Store> {
    const ledgers = await openLedgerReader(databaseUrl)
    await ledgers.close()
    return openStore(databaseUrl)
  }

  /** Opens an existing store to read its ledgers. Servers may be using it. */
  async function openLedgerReader(databaseUrl: string): Promise<LedgerReader> {
    const { db, close } = await openReads(databaseUrl, requireSchema, ledgerTimeoutMs)
    const reads = createLedgerReads(db, subjects, verifyTables)
    return { ...reads, findProject: (ref) => findProjectRecord(db, ref), close }
  }

  async function copyRegistry(fromUrl: string, toUrl: string, listener: CopyListener) {
    const { copyRegistry } = await import('./copy.ts')
    return copyRegistry(fromUrl, toUrl, { listener, openStore, tables, subjects, verifyTables })
  }
  return {
    openStore,
    openServerStore,
    openExistingStore,
    openLedgerReader,
    copyRegistry,
  }
}

/** Limit for one of the statements that compare whole tables with the ledgers. */
const ledgerTimeoutMs = 60_000

/**
 * Opens an existing database to read it. Servers may be using it. Rejects unless its schema is what
 * the caller requires. `schema`: the PostgreSQL schema that holds the tables. `minTimeoutMs`: what a
 * statement on PostgreSQL may take, if the address allows less.
 */
export async function openReads(
  databaseUrl: string,
  requirement = requireSchema,
  minTimeoutMs = 0,
): Promise<{ db: Db; schema?: string; close(): Promise<void> }> {
  if (isPostgres(databaseUrl)) {
    const { openWithoutMigrating } = await import('./postgres/startup.ts')
    return openWithoutMigrating(databaseUrl, requirement, minTimeoutMs)
  }
  const { openWithoutMigrating } = await import('./sqlite/opening.ts')
  const location = { file: sqliteFileOf(databaseUrl), role: 'reader' } as const
  const { db, close } = await openWithoutMigrating(location, requirement)
  return { db, close: async () => close() }
}

/** The path of the SQLite file. Throws for a PostgreSQL database, and for a device or a pipe. */
export function sqliteFileOf(databaseUrl: string): string {
  if (isPostgres(databaseUrl)) {
    throw new Error('This command is for SQLite. Use the tools of PostgreSQL, such as pg_dump.')
  }
  const file = databaseUrl.slice('sqlite:'.length)
  requireRegularFile(file)
  return file
}

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

/** Reads the state without changing anything. Rejects if the database is missing or cannot be used. */
export async function inspectDatabase(
  database: { databaseUrl: string; databaseReplicaUrl?: string },
  countKeys: CountKeys,
): Promise<DatabaseReport> {
  const { databaseUrl: url, databaseReplicaUrl: replicaUrl } = database
  if (!isPostgres(url)) {
    return { engine: 'SQLite', hosts: [], ...(await readContent(url, countKeys)) }
  }
  const { inspectHosts } = await import('./postgres/startup.ts')
  const urls = replicaUrl === undefined ? [url] : [url, replicaUrl]
  const hosts = (await Promise.all(urls.map(inspectHosts))).flat()
  const report = { engine: 'PostgreSQL', hosts } as const
  if (!hosts.some(({ role }) => /^(primary|read-only)$/.test(role))) return report
  const content = await readContent(url, countKeys).catch((error) => ({
    problem: describeCause(error) ?? 'it cannot be read',
  }))
  return { ...report, ...content }
}

/** How the schema of a database relates to this release. */
export async function readSchema(databaseUrl: string): Promise<SchemaState> {
  const { db, schema, close } = await openReads(databaseUrl, async () => {})
  return readSchemaState(db, schema).finally(close)
}

/** Also examines the whole file of SQLite. */
async function readContent(
  url: string,
  countKeys: CountKeys,
): Promise<Pick<DatabaseReport, 'schema' | 'keys'>> {
  const { db, ...opened } = await openReads(url, async (reads) => {
    if (isPostgres(url)) return
    const { requireIntact } = await import('./sqlite/opening.ts')
    await requireIntact(reads, sqliteFileOf(url))
  })
  try {
    const schema = await readSchemaState(db, opened.schema)
    if (schema === 'none' || schema === 'older') return { schema }
    const counts = await countKeys(db, new Date().toISOString()).catch(() => undefined)
    if (counts === undefined) return { schema }
    const keys = { active: 0, inactive: 0 }
    for (const { enabled, expired, count } of counts) {
      keys[enabled && !expired ? 'active' : 'inactive'] += count
    }
    return { schema, keys }
  } finally {
    await opened.close()
  }
}
