import type { AuditStore } from '../../core/audit/records.ts'
import { requireSchema } from '../migrations/index.ts'
import { createAuditReads } from '../reads/audit.ts'
import { createLedgerReads, type LedgerReader } from '../reads/ledger.ts'
import { createStoreReads } from '../reads/store.ts'
import { parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { openDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { currentSchema } from './migrate.ts'
import { waitUntilUsable } from './store.ts'

/**
 * The database beside servers that may be running on it. Rejects where it was not made by this
 * release; it is neither created nor migrated.
 */
async function openWithoutMigrating(url: string) {
  const address = parsePostgresAddress(url)
  const sessions = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(sessions)
    const db = createKysely(sessions.read)
    await requireSchema(db, await currentSchema(db))
    return { address, sessions, db }
  } catch (error) {
    await sessions.close()
    throw error
  }
}

export async function openPostgresLedgerReader({ url }: { url: string }): Promise<LedgerReader> {
  const { sessions, db } = await openWithoutMigrating(url)
  const { findProject } = createStoreReads(db)
  return { ...createLedgerReads(db), findProject, close: () => sessions.close() }
}

export async function openPostgresAuditStore({ url }: { url: string }): Promise<AuditStore> {
  const { address, sessions, db } = await openWithoutMigrating(url)
  const { findProject } = createStoreReads(db)
  return {
    ...createAuditReads(db),
    findProject,
    commit: createCommit(sessions, address.poolSize).commit,
    close: () => sessions.close(),
  }
}
