import { Worker } from 'node:worker_threads'
import { systemClock } from '../../../runtime/clock.ts'
import { present } from '../../../runtime/present.ts'
import type { Store } from '../../context.ts'
import { createContradictions, noteContradictions } from '../../ledger/contradictions.ts'
import { type ActorNames, nameThrough } from '../../ledger/event-reads.ts'
import type { Census } from '../../records.ts'
import { commonReads } from '../cached.ts'
import type { Table } from '../schema.ts'
import { openSqlite } from './connection.ts'
import { isIntact, lastBackup, openDatabaseFile } from './file.ts'
import { createHeadFollower, createVersionedHeads } from './heads.ts'
import { startWriterThread } from './writer-handle.ts'

/** The modules of its threads; each runs the same features as this one. */
export interface Threads {
  writer: URL
  census: URL
}

/**
 * The store in one SQLite file. A thread writes; this one reads over its own connection, which sees
 * every acknowledged commit. Creates the file if there is none, for its owner only. Rejects if the
 * file cannot be used.
 */
export async function openSqliteStore({
  file,
  threads,
  tables,
  names,
}: {
  file: string
  tables: readonly Table[]
  names: ActorNames
  threads: Threads
}): Promise<Store> {
  const descriptor = openDatabaseFile(file)
  const writer = await startWriterThread(threads.writer, { file, descriptor })
  const reader = openSqlite({ file, role: 'reader', descriptor })
  const contradictions = createContradictions()
  noteContradictions(reader.db, contradictions.note)
  nameThrough(reader.db, names)
  const census = createCensus(threads.census, file)
  const heads = createVersionedHeads(reader, tables)
  return {
    ...commonReads(reader.db, heads, tables),
    clock: systemClock,
    followHeads: () => createHeadFollower(reader, heads),
    commit: writer.commit,
    census: census.take,
    contradictions,
    isWritable: writer.isWritable,
    diagnostics: () => ({ engine: 'SQLite', ...present({ backupTime: lastBackup(file) }) }),
    async close() {
      await census.close()
      // Closing the last connection merges the log into the file. If the file is damaged, leave both
      // as they are: as long as the log exists, the file can be repaired.
      if (!isIntact(file, descriptor)) return
      reader.close()
      await writer.close()
    },
  }
}

/** Counts keys in a thread of its own, since counting a million takes a second. */
function createCensus(source: URL, file: string) {
  let worker: Worker | undefined
  return {
    take(time: string): Promise<Census> {
      const counter = new Worker(source, { workerData: { file, time }, stdin: false })
      counter.unref()
      worker = counter
      return new Promise((resolve, reject) => {
        counter.once('message', resolve)
        counter.once('error', reject)
        counter.once('exit', () => reject(new Error('the count was interrupted')))
      })
    },
    /** Ends a count in progress. */
    async close() {
      await worker?.terminate()
    },
  }
}
