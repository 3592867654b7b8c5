/** The thread that counts keys once, with its own connection and low priority, and then ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { takeCensus } from '../../../features/warnings/census.ts'
import { lowerThreadPriority } from '../../../runtime/priority.ts'
import { openSqlite } from './connection.ts'

lowerThreadPriority()
const { db, close } = openSqlite({ file: workerData.file, role: 'reader' })
parentPort?.postMessage(await takeCensus(db, workerData.time))
close()
