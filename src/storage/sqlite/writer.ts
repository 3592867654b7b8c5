/**
 * The thread that writes. It has the only connection that can, so that a locked file or a slow disk
 * never blocks the event loop. It commits a batch of changes at once: each change has its own
 * savepoint and result, and they share one durable commit.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { Change } from '../../core/ledger/changes.ts'
import { collectStartupGarbage } from '../../runtime/startup-garbage.ts'
import { applyChange } from '../changes/apply.ts'
import {
  begin,
  commit,
  release,
  rollback,
  rollbackToSavepoint,
  type SqliteConnection,
  savepoint,
} from './connection.ts'
import { packError, type WriterMessage, type WriterReply, type WriterResult } from './messages.ts'
import { openMigrated } from './migrate.ts'

async function commitBatch(
  connection: SqliteConnection,
  changes: Change[],
): Promise<WriterResult[]> {
  const { db } = connection
  await begin.execute(db)
  try {
    const results: WriterResult[] = []
    for (const change of changes) results.push(await applyOne(connection, change))
    await commit.execute(db)
    return results
  } catch (error) {
    if (connection.inTransaction()) await rollback.execute(db)
    throw error
  }
}

/** Rejects only if the whole transaction is lost, for example because the disk is full. */
async function applyOne(connection: SqliteConnection, change: Change): Promise<WriterResult> {
  const { db } = connection
  await savepoint.execute(db)
  try {
    const { result, changed } = await applyChange(db, change)
    if (!changed) await rollbackToSavepoint.execute(db)
    await release.execute(db)
    return { ok: true, value: result }
  } catch (error) {
    if (!connection.inTransaction()) throw error
    await rollbackToSavepoint.execute(db)
    await release.execute(db)
    return { ok: false, error: packError(error) }
  }
}

function post(reply: WriterReply): void {
  parentPort?.postMessage(reply)
}

async function handle(connection: SqliteConnection, message: WriterMessage): Promise<void> {
  if (message.type === 'close') {
    connection.close()
    parentPort?.close()
    return
  }
  try {
    post({ type: 'committed', results: await commitBatch(connection, message.changes) })
  } catch (error) {
    post({ type: 'batch_failed', error: packError(error) })
  }
}

const connection = await openMigrated(workerData).catch((error) => {
  post({ type: 'start_failed', error: packError(error) })
  parentPort?.close()
})
if (connection !== undefined) {
  parentPort?.on('message', (message: WriterMessage) => void handle(connection, message))
  post({ type: 'ready' })
  await collectStartupGarbage()
}
