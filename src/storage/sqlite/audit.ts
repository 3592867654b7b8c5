import { existsSync } from 'node:fs'
import type { AuditStore } from '../../core/audit/records.ts'
import { requireSchema } from '../migrations/index.ts'
import { createAuditReads } from '../reads/audit.ts'
import { openSqlite } from './connection.ts'
import { openSqliteStore } from './store.ts'

/**
 * The store beside a server that may be running on it. Rejects where the file is not there or was
 * written by another release; it is neither created nor migrated.
 */
export async function openSqliteAuditStore({ file }: { file: string }): Promise<AuditStore> {
  if (!existsSync(file)) throw new Error(`There is no database at ${file}.`)
  const reader = openSqlite({ file, role: 'reader' })
  try {
    await requireSchema(reader.db)
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
