/**
 * The thread that writes. It alone holds the connection that can, so that a locked file or a slow
 * disk never stops the event loop, and it commits all changes that arrived meanwhile at once: each
 * has its own savepoint and its own answer, and one durable commit serves them all.
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
import { packError, type Reply, type WriterAnswer, type WriterMessage } from './messages.ts'
import { openMigrated } from './migrate.ts'

async function commitTogether(connection: SqliteConnection, changes: Change[]): Promise<Reply[]> {
  const { db } = connection
  await begin.execute(db)
  try {
    const replies: Reply[] = []
    for (const change of changes) replies.push(await applyOne(connection, change))
    await commit.execute(db)
    return replies
  } catch (error) {
    if (connection.inTransaction()) await rollback.execute(db)
    throw error
  }
}

/** Rejects only where the whole transaction is lost (the disk is full, say). */
async function applyOne(connection: SqliteConnection, change: Change): Promise<Reply> {
  const { db } = connection
  await savepoint.execute(db)
  try {
    const { result, changed } = await applyChange(db, change)
    if (!changed) await rollbackToSavepoint.execute(db)
    await release.execute(db)
    return { ok: true, result }
  } catch (error) {
    if (!connection.inTransaction()) throw error
    await rollbackToSavepoint.execute(db)
    await release.execute(db)
    return { ok: false, error: packError(error) }
  }
}

async function answer(connection: SqliteConnection, message: WriterMessage): Promise<void> {
  switch (message.type) {
    case 'commit': {
      const done: WriterAnswer = await commitTogether(connection, message.changes).then(
        (replies) => ({ type: 'committed', replies }),
        (error) => ({ type: 'lost', error: packError(error) }),
      )
      parentPort?.postMessage(done)
      return
    }
    case 'close':
      connection.close()
      parentPort?.close()
  }
}

const connection = await openMigrated(workerData).catch((error) => {
  parentPort?.postMessage({ type: 'failed', error: packError(error) })
  parentPort?.close()
})
if (connection !== undefined) {
  parentPort?.on('message', (message: WriterMessage) => void answer(connection, message))
  parentPort?.postMessage({ type: 'ready' })
  await collectStartupGarbage()
}
