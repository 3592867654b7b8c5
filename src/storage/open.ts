import type { AuditStore } from '../core/audit/records.ts'
import type { Store } from '../core/context.ts'
import type { LedgerReader } from './reads/ledger.ts'

/**
 * Opens the store that the address names: `sqlite:PATH` or `postgres://…`. Nothing is loaded of the
 * engine that is not used, here and below. `replicaUrl`: of servers
 * that follow it.
 */
export async function openStore(
  databaseUrl: string,
  { replicaUrl }: { replicaUrl?: string | undefined } = {},
): Promise<Store> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresStore } = await import('./postgres/store.ts')
    return openPostgresStore({
      url: databaseUrl,
      ...(replicaUrl === undefined ? {} : { replicaUrl }),
    })
  }
  const { openSqliteStore } = await import('./sqlite/store.ts')
  return openSqliteStore({ file: fileOf(databaseUrl) })
}

/**
 * The same where there is one already, in the schema of this release: a mistyped path must not
 * become a new registry. A server may be running on it.
 */
export async function openExistingStore(
  databaseUrl: string,
  options: { replicaUrl?: string | undefined } = {},
): Promise<Store> {
  const ledgers = await openLedgerReader(databaseUrl)
  await ledgers.close()
  return openStore(databaseUrl, options)
}

/** Opens the store to read its ledgers and nothing else, beside a server that may be running. */
export async function openLedgerReader(databaseUrl: string): Promise<LedgerReader> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresLedgerReader: openPostgresLedgers } = await import(
      './postgres/without-migrating.ts'
    )
    return openPostgresLedgers({ url: databaseUrl })
  }
  const { openSqliteLedgerReader: openSqliteLedgers } = await import(
    './sqlite/without-migrating.ts'
  )
  return openSqliteLedgers({ file: fileOf(databaseUrl) })
}

/** Opens the store to audit its keys, beside a server that may be running. */
export async function openAuditStore(databaseUrl: string): Promise<AuditStore> {
  if (isPostgres(databaseUrl)) {
    const { openPostgresAuditStore: openPostgresAudit } = await import(
      './postgres/without-migrating.ts'
    )
    return openPostgresAudit({ url: databaseUrl })
  }
  const { openSqliteAuditStore: openSqliteAudit } = await import('./sqlite/audit.ts')
  return openSqliteAudit({ file: fileOf(databaseUrl) })
}

/** The path of the SQLite file that the address names, for those who copy or replace it. */
export function sqliteFileOf(databaseUrl: string): string {
  if (isPostgres(databaseUrl)) {
    throw new Error('This is for SQLite; PostgreSQL is backed up by its own tools, as pg_dump.')
  }
  return fileOf(databaseUrl)
}

function isPostgres(databaseUrl: string): boolean {
  return /^postgres(ql)?:/.test(databaseUrl)
}

function fileOf(databaseUrl: string): string {
  return databaseUrl.slice('sqlite:'.length)
}
