import type { AuditStore } from '../../core/audit/records.ts'
import { requireSchema } from '../migrations/index.ts'
import { createAuditReads } from '../reads/audit.ts'
import { createLedgerReads, type LedgerReader } from '../reads/ledger.ts'
import { createReads } from '../reads/registry.ts'
import { parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { kyselyOver } from './dialect.ts'
import { currentSchema } from './migrate.ts'
import { openSessions } from './sessions.ts'
import { whenUsable } from './store.ts'

/**
 * The database beside servers that may be running on it. Rejects where it was not made by this
 * release; it is neither created nor migrated.
 */
async function openWithoutMigrating(url: string) {
  const address = parsePostgresAddress(url)
  const sessions = openSessions(address, 'primary')
  try {
    await whenUsable(sessions)
    const db = kyselyOver(sessions.read)
    await requireSchema(db, await currentSchema(db))
    return { address, sessions, db }
  } catch (error) {
    await sessions.close()
    throw error
  }
}

export async function openPostgresLedgers({ url }: { url: string }): Promise<LedgerReader> {
  const { sessions, db } = await openWithoutMigrating(url)
  const { findProject } = createReads(db)
  return { ...createLedgerReads(db), findProject, close: () => sessions.close() }
}

export async function openPostgresAudit({ url }: { url: string }): Promise<AuditStore> {
  const { address, sessions, db } = await openWithoutMigrating(url)
  const { findProject } = createReads(db)
  return {
    ...createAuditReads(db),
    findProject,
    commit: createCommit(sessions, address.poolSize).commit,
    close: () => sessions.close(),
  }
}
