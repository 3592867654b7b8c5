import { existsSync } from 'node:fs'
import type { AuditStore } from '../../core/audit/records.ts'
import { requireSchema } from '../migrations/index.ts'
import { createAuditReads } from '../reads/audit.ts'
import { createLedgerReads, type LedgerReader } from '../reads/ledger.ts'
import { createStoreReads } from '../reads/store.ts'
import { openSqlite, type SqliteConnection, type SqliteOptions } from './connection.ts'
import { requireGeneration } from './generation.ts'
import { openSqliteStore } from './store.ts'

/**
 * Opens an existing file, which a server may be using. Rejects if it has lost its log, and unless its
 * schema is what the caller requires.
 */
export async function openWithoutMigrating(
  options: Pick<SqliteOptions, 'file' | 'role'>,
  requirement = requireSchema,
): Promise<SqliteConnection> {
  const { file } = options
  if (!existsSync(file)) throw new Error(`There is no database at ${file}.`)
  const connection = openSqlite(options)
  try {
    await requireGeneration(connection.db, file)
    await requirement(connection.db)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

export async function openSqliteLedgerReader(file: string): Promise<LedgerReader> {
  const { db, close } = await openWithoutMigrating({ file, role: 'reader' })
  const { findProject } = createStoreReads(db)
  return { ...createLedgerReads(db), findProject, close: async () => close() }
}

export async function openSqliteAuditStore(file: string): Promise<AuditStore> {
  const reader = await openWithoutMigrating({ file, role: 'reader' })
  try {
    const store = await openSqliteStore({ file })
    return {
      ...createAuditReads(reader.db),
      findProject: store.findProject,
      commit: store.commit,
      async close() {
        reader.close()
        await store.close()
      },
    }
  } catch (error) {
    reader.close()
    throw error
  }
}
