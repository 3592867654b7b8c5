/** The thread that counts once, with its own connection and low priority, and then ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../../../runtime/threads.ts'
import { type Feature, loadCensus } from '../../feature.ts'
import { openSqlite } from './connection.ts'

export async function runCensus(features: readonly Feature[]): Promise<void> {
  lowerThreadPriority()
  const takeCensus = await loadCensus(features)
  const { db, close } = openSqlite({ file: workerData.file, role: 'reader' })
  parentPort?.postMessage(await takeCensus(db, workerData.time))
  close()
}
