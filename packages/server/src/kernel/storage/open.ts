import { requireRegularFile } from '../../runtime/files.ts'
import { findProjectRecord } from '../access/stored-projects.ts'
import type { Store } from '../context.ts'
import { type Feature, loadAppliers, loadCensus, subjectsOf, tablesOf } from '../feature.ts'
import { createLedgerReads, type LedgerReader } from '../ledger/reads.ts'
import type { CopyListener } from './copy.ts'
import { ownMigrations, requireSchema } from './migrations/index.ts'
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
  const people = features.find((each) => each.people !== undefined)?.people
  const loadParts = async () => {
    const [appliers, takeCensus] = [await loadAppliers(features), await loadCensus(features)]
    return { appliers, takeCensus, tables, people }
  }

  /**
   * Opens the store at `sqlite:PATH` or `postgres://…`. Loads only the engine that is used. `replicaUrl`:
   * PostgreSQL standbys, from which published key sets may be read.
   */
  async function openStore(databaseUrl: string, replicaUrl?: string): Promise<Store> {
    if (isPostgres(databaseUrl)) {
      const { openPostgresStore } = await import('./postgres/store.ts')
      return openPostgresStore(await loadParts(), databaseUrl, replicaUrl)
    }
    const { openSqliteStore } = await import('./sqlite/store.ts')
    return openSqliteStore({ file: sqliteFileOf(databaseUrl), threads, tables, people })
  }

  /** Opens the store for a server, which can listen before PostgreSQL can be reached. */
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
    const { db, close } = await openReads(databaseUrl)
    const reads = createLedgerReads(db, subjects)
    return { ...reads, findProject: (ref) => findProjectRecord(db, ref), close }
  }

  async function copyRegistry(fromUrl: string, toUrl: string, listener: CopyListener) {
    const { copyRegistry } = await import('./copy.ts')
    return copyRegistry(fromUrl, toUrl, { listener, openStore, tables, subjects })
  }
  return {
    openStore,
    openServerStore,
    openExistingStore,
    openLedgerReader,
    copyRegistry,
    migrations: ownMigrations(tables),
  }
}

/**
 * Opens an existing database to read it. Servers may be using it. Rejects unless its schema is what
 * the caller requires. `schema`: the PostgreSQL schema that holds the tables.
 */
export async function openReads(
  databaseUrl: string,
  requirement = requireSchema,
): Promise<{ db: Db; schema?: string; close(): Promise<void> }> {
  if (isPostgres(databaseUrl)) {
    const { openWithoutMigrating } = await import('./postgres/startup.ts')
    return openWithoutMigrating(databaseUrl, requirement)
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

export function isPostgres(databaseUrl: string): boolean {
  return /^postgres(ql)?:/.test(databaseUrl)
}
