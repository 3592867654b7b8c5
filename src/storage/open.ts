import type { AuditStore } from '../core/audit/records.ts'
import type { Store } from '../core/context.ts'
import { requireRegularFile } from '../runtime/files.ts'
import type { LedgerReader } from './reads/ledger.ts'

export interface OpenOptions {
  /** PostgreSQL standbys, from which published key sets may be read. */
  replicaUrl?: string | undefined
}

/** Opens the store at `sqlite:PATH` or `postgres://…`. Loads only the engine that is used. */
export async function openStore(
  databaseUrl: string,
  { replicaUrl }: OpenOptions = {},
): Promise<Store> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresStore } = await import('./postgres/store.ts')
    const replica = replicaUrl === undefined ? {} : { replicaUrl }
    return openPostgresStore({ url: databaseUrl, ...replica })
  }
  const { openSqliteStore } = await import('./sqlite/store.ts')
  return openSqliteStore({ file: sqliteFileOf(databaseUrl) })
}

/** The store of a server. */
export interface ServerStore {
  /** Rejects every use with `storage_unavailable` until it is prepared. */
  store: Store
  /**
   * Resolves once the schema is known to be that of this release, which may take as long as an
   * outage of PostgreSQL. Rejects with one line for a person if the database cannot be used.
   */
  prepared: Promise<void>
}

/**
 * Opens the store for a server, which can listen before PostgreSQL can be reached. `mustExist`: the
 * database was prepared by another process.
 */
export async function openServerStore(
  databaseUrl: string,
  { replicaUrl, mustExist }: OpenOptions & { mustExist: boolean },
): Promise<ServerStore> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresServerStore } = await import('./postgres/store.ts')
    const replica = replicaUrl === undefined ? {} : { replicaUrl }
    return openPostgresServerStore({ url: databaseUrl, ...replica })
  }
  const store = await (mustExist ? openExistingStore : openStore)(databaseUrl)
  return { store, prepared: Promise.resolve() }
}

/**
 * Opens an existing store whose schema is that of this release, so that a mistyped path does not
 * create a new registry. Servers may be using it.
 */
export async function openExistingStore(
  databaseUrl: string,
  options: OpenOptions = {},
): Promise<Store> {
  const ledgers = await openLedgerReader(databaseUrl)
  await ledgers.close()
  return openStore(databaseUrl, options)
}

/** Opens an existing store to read its ledgers. Servers may be using it. */
export async function openLedgerReader(databaseUrl: string): Promise<LedgerReader> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresLedgerReader } = await import('./postgres/without-migrating.ts')
    return openPostgresLedgerReader(databaseUrl)
  }
  const { openSqliteLedgerReader } = await import('./sqlite/without-migrating.ts')
  return openSqliteLedgerReader(sqliteFileOf(databaseUrl))
}

/** Opens an existing store to audit its keys. Servers may be using it. */
export async function openAuditStore(databaseUrl: string): Promise<AuditStore> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresAuditStore } = await import('./postgres/without-migrating.ts')
    return openPostgresAuditStore(databaseUrl)
  }
  const { openSqliteAuditStore } = await import('./sqlite/without-migrating.ts')
  return openSqliteAuditStore(sqliteFileOf(databaseUrl))
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
