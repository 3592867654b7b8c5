import { createAuditReads } from './features/audit/reads.ts'
import type { AuditStore } from './features/audit/records.ts'
import { features } from './features.ts'
import { openReads, storageOf } from './kernel/storage/open.ts'
import { siblingModule } from './runtime/modules.ts'

/** The storage with all features. */
export const { openStore, openServerStore, openExistingStore, openLedgerReader, copyRegistry } =
  storageOf(features, { writer: siblingModule(import.meta.url, 'writer-thread') })

/** Opens an existing store to audit its keys. Servers may be using it. */
export async function openAuditStore(databaseUrl: string): Promise<AuditStore> {
  const { db, close } = await openReads(databaseUrl)
  try {
    const { findProject, commit, close: closeStore } = await openStore(databaseUrl)
    const closeBoth = () => close().then(closeStore)
    return { ...createAuditReads(db), findProject, commit, close: closeBoth }
  } catch (error) {
    await close()
    throw error
  }
}
