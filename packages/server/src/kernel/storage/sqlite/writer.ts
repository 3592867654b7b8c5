/**
 * The thread that writes. It has the only connection that can, so that a locked file or a slow disk
 * never blocks the event loop. It commits a batch of changes at once: each change has its own
 * savepoint and result, and they share one durable commit.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../runtime/clock.ts'
import { collectStartupGarbage } from '../../../runtime/threads.ts'
import type { Appliers } from '../../changes.ts'
import { type Feature, loadAppliers } from '../../feature.ts'
import { ownMigrations } from '../migrations/index.ts'
import {
  release,
  rollbackToSavepoint,
  type SqliteConnection,
  savepoint,
  withTransaction,
} from './connection.ts'
import {
  packError,
  type SentChange,
  type WriterMessage,
  type WriterReply,
  type WriterResult,
} from './messages.ts'
import { openMigrated, raiseGeneration } from './opening.ts'
import type { DatabaseFile } from './writer-handle.ts'

interface Writer {
  appliers: Appliers
  connection: SqliteConnection
  file: string
}

function commitBatch(writer: Writer, changes: SentChange[]): Promise<WriterResult[]> {
  return withTransaction(writer.connection, async () => {
    const results: WriterResult[] = []
    for (const change of changes) results.push(await applyOne(writer, change))
    return results
  })
}

/** Rejects only if the whole transaction is lost, for example because the disk is full. */
async function applyOne(
  { appliers, connection }: Writer,
  { type, change }: SentChange,
): Promise<WriterResult> {
  const { db, run } = connection
  run(savepoint)
  try {
    const { result, changed } = await appliers.apply(
      { db, clock: systemClock },
      appliers.kind(type),
      change,
    )
    if (!changed) run(rollbackToSavepoint)
    run(release)
    return { ok: true, value: result }
  } catch (error) {
    if (!connection.inTransaction()) throw error
    run(rollbackToSavepoint)
    run(release)
    return { ok: false, error: packError(error) }
  }
}

function post(reply: WriterReply): void {
  parentPort?.postMessage(reply)
}

/** When the log is merged into the file after a change: soon at first, for a new registry. */
const firstCheckpointDelayMs = 1_000
const checkpointDelayMs = 60_000

let checkpointTimer: NodeJS.Timeout | undefined
let isFirstCheckpoint = true

/** Merges the log a while after a change, so that little depends on it, and raises the generation. */
function scheduleCheckpoint(writer: Writer): void {
  if (checkpointTimer !== undefined) return
  const delayMs = isFirstCheckpoint ? firstCheckpointDelayMs : checkpointDelayMs
  checkpointTimer = setTimeout(() => {
    checkpointTimer = undefined
    isFirstCheckpoint = false
    enqueue(() => mergeLog(writer).catch(() => scheduleCheckpoint(writer)))
  }, delayMs)
  checkpointTimer.unref()
}

async function mergeLog({ connection, file }: Writer): Promise<void> {
  connection.run('PRAGMA wal_checkpoint(PASSIVE)')
  await raiseGeneration(connection, file)
}

let work: Promise<void> = Promise.resolve()

/** Runs one thing after the other: they share the connection. */
function enqueue(run: () => Promise<void>): void {
  work = work.then(run)
}

async function handle(writer: Writer, message: WriterMessage): Promise<void> {
  if (message.type === 'close') {
    clearTimeout(checkpointTimer)
    writer.connection.close()
    parentPort?.close()
    return
  }
  scheduleCheckpoint(writer)
  try {
    post({ type: 'committed', results: await commitBatch(writer, message.changes) })
  } catch (error) {
    post({ type: 'batch_failed', error: packError(error) })
  }
}

/** Runs in the thread, with these features. */
export async function runWriter(features: readonly Feature[]): Promise<void> {
  const location: DatabaseFile = workerData
  const appliers = await loadAppliers(features)
  const connection = await openMigrated(location, ownMigrations).catch((error) => {
    post({ type: 'start_failed', error: packError(error) })
    parentPort?.close()
  })
  if (connection === undefined) return
  const writer = { appliers, connection, file: location.file }
  // A full disk must not prevent reads: the checkpoint tries again.
  await raiseGeneration(connection, location.file).catch(() => scheduleCheckpoint(writer))
  parentPort?.on('message', (message: WriterMessage) => {
    enqueue(() => handle(writer, message))
  })
  post({ type: 'ready' })
  await collectStartupGarbage()
}
