/** The thread that counts keys once, with its own connection and low priority, and then ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../../runtime/priority.ts'
import { takeCensus } from '../reads/census.ts'
import { openSqlite } from './connection.ts'

lowerThreadPriority()
const { db, close } = openSqlite({ file: workerData.file, role: 'reader' })
parentPort?.postMessage(await takeCensus(db, workerData.time))
close()
