import { existsSync } from 'node:fs'
import { requireSchema } from '../migrations/index.ts'
import { createLedgerReads, type LedgerReader } from '../reads/ledger.ts'
import { createStoreReads } from '../reads/store.ts'
import { openSqlite } from './connection.ts'

/**
 * One connection that cannot write, and no thread. Rejects where the file is not there or was
 * written by another release; it is neither created nor migrated.
 */
export async function openSqliteLedgerReader({ file }: { file: string }): Promise<LedgerReader> {
  if (!existsSync(file)) throw new Error(`There is no database at ${file}.`)
  const { db, close } = openSqlite({ file, role: 'reader' })
  try {
    await requireSchema(db)
  } catch (error) {
    close()
    throw error
  }
  const { findProject } = createStoreReads(db)
  return { ...createLedgerReads(db), findProject, close: async () => close() }
}
