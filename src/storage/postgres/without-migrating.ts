import type { AuditStore } from '../../core/audit/records.ts'
import { requireSchema } from '../migrations/index.ts'
import { createAuditReads } from '../reads/audit.ts'
import { createLedgerReads, type LedgerReader } from '../reads/ledger.ts'
import { createStoreReads } from '../reads/store.ts'
import { parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { openDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { readCurrentSchema } from './migrate.ts'
import { waitUntilUsable } from './startup.ts'

/**
 * Opens an existing database, which servers may be using. Rejects unless its schema is what the
 * caller requires.
 */
export async function openWithoutMigrating(url: string, requirement = requireSchema) {
  const address = parsePostgresAddress(url)
  const database = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(database)
    const db = createKysely(database.read)
    await requirement(db, await readCurrentSchema(db))
    return { address, database, db }
  } catch (error) {
    await database.close()
    throw error
  }
}

export async function openPostgresLedgerReader(url: string): Promise<LedgerReader> {
  const { database, db } = await openWithoutMigrating(url)
  const { findProject } = createStoreReads(db)
  return { ...createLedgerReads(db), findProject, close: () => database.close() }
}

export async function openPostgresAuditStore(url: string): Promise<AuditStore> {
  const { address, database, db } = await openWithoutMigrating(url)
  const { findProject } = createStoreReads(db)
  return {
    ...createAuditReads(db),
    findProject,
    commit: createCommit(database, address.poolSize).commit,
    close: () => database.close(),
  }
}
