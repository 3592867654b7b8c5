import { existsSync } from 'node:fs'
import { createLedgerReads, type LedgerReader } from './ledger-reads.ts'
import { requireSchema } from './migrations/index.ts'
import { createReads } from './reads.ts'
import { openSqlite } from './sqlite.ts'

/**
 * One connection that cannot write, and no thread. Rejects where the file is not there or was
 * written by another release; it is neither created nor migrated.
 */
export async function openSqliteLedgers({ file }: { file: string }): Promise<LedgerReader> {
  if (!existsSync(file)) throw new Error(`There is no database at ${file}.`)
  const { db, close } = openSqlite({ file, role: 'reader' })
  try {
    await requireSchema(db)
  } catch (error) {
    close()
    throw error
  }
  const { findProject } = createReads(db)
  return { ...createLedgerReads(db), findProject, close: async () => close() }
}
