import type { Store } from '../../core/context.ts'
import { createCachedReads } from '../reads/cached.ts'
import { createStoreReads } from '../reads/store.ts'
import { openSqlite } from './connection.ts'
import { isIntact, openDatabaseFile } from './file.ts'
import { createVersionedHeads } from './heads.ts'
import { startWriterThread } from './writer-thread.ts'

/**
 * The store in one SQLite file: a thread of its own writes, this one reads over a second
 * connection, which sees every commit that was acknowledged. Creates folder and file at need, with
 * access for the owner alone; rejects where the file cannot be used.
 */
export async function openSqliteStore({ file }: { file: string }): Promise<Store> {
  const descriptor = openDatabaseFile(file)
  const writer = await startWriterThread({ file, descriptor })
  const reader = openSqlite({ file, role: 'reader', descriptor })
  const reads = createStoreReads(reader.db)
  const heads = createVersionedHeads(reader, () => reads.ping())
  return {
    ...reads,
    ...createCachedReads(reads, heads),
    async commit(change) {
      try {
        return await writer.commit(change)
      } finally {
        heads.changed()
      }
    },
    isWritable: () => writer.isWritable(),
    async close() {
      // The last connection to close empties the log into the file. Into one that is damaged it must
      // not be: as long as the log is there, the file can be mended.
      if (!isIntact(file, descriptor)) return
      reader.close()
      await writer.close()
    },
  }
}
