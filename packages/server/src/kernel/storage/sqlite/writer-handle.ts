import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createTurns } from '../../../async/turns.ts'
import { type ChangeKind, changerIn } from '../../changes.ts'
import { queueFull, unconfirmedChange } from '../errors.ts'
import { type SentChange, unpackError, type WriterMessage, type WriterReply } from './messages.ts'

/** Changes in one commit. */
const maxBatch = 256

/** So many queued changes are sent at once, not at the end of the turn. */
const eagerBatch = 16

/** Queued changes, beyond which further ones are rejected; a caller may have half of them. */
const maxQueue = 4_096

const restartPauseMs = 1_000

/** A new thread takes over at once, so a change may soon be repeated. */
const restartSeconds = 1

/** The file, and the descriptor by which this process keeps it open. */
export interface DatabaseFile {
  file: string
  descriptor: number
}

interface PendingChange extends SentChange<object> {
  resolve(result: unknown): void
  reject(error: Error): void
}

/**
 * Starts the writing thread. Resolves once the file is open and its schema up to date. Changes are
 * queued while a batch is being committed and make up the next one, without a timer; callers take turns.
 * At most 15 wait for the end of the turn of the event loop. A thread that exits is restarted. Long
 * because all of it depends on the current thread.
 */
export async function startWriterThread(module: URL, location: DatabaseFile) {
  const queued = createTurns<PendingChange>(maxQueue)
  /** The changes that the thread is committing. */
  let batch: PendingChange[] = []
  let isClosing = false
  let isWritable = true
  /** Undefined while the thread is restarted. */
  let worker: Worker | undefined

  function post(message: WriterMessage<object>): void {
    worker?.postMessage(message)
  }
  function sendNextBatch(): void {
    if (batch.length > 0) return
    batch = queued.take(maxBatch)
    if (batch.length > 0)
      post({ type: 'commit', changes: batch.map(({ type, change }) => ({ type, change })) })
    else if (isClosing) post({ type: 'close' })
  }
  function handleReply(reply: WriterReply): void {
    if (reply.type === 'batch_failed') rejectAll(unpackError(reply.error))
    if (reply.type !== 'committed') return
    isWritable = true
    const ended = batch
    batch = []
    sendNextBatch()
    reply.results.forEach((result, index) => {
      if (result.ok) ended[index]?.resolve(result.value)
      else ended[index]?.reject(unpackError(result.error))
    })
  }
  /** Rejects the queue too: each further batch could take as long to fail. */
  function rejectAll(error: Error): void {
    isWritable = false
    const all = [...batch, ...queued.take(maxQueue)]
    batch = []
    for (const { reject } of all) reject(error)
    sendNextBatch()
  }
  function use(started: Worker): void {
    worker = started
    started.on('message', handleReply)
    started.on('error', () => {})
    started.on('exit', () => {
      worker = undefined
      rejectAll(unconfirmedChange(undefined, restartSeconds))
      if (!isClosing) restart()
    })
    if (isClosing) post({ type: 'close' })
  }
  function restart(): void {
    startWorker(module, location).then(use, () =>
      setTimeout(() => isClosing || restart(), restartPauseMs).unref(),
    )
  }
  use(await startWorker(module, location))

  return {
    commit<Change extends object, Result>(
      { type }: ChangeKind<Change, Result>,
      change: Change,
    ): Promise<Result> {
      return new Promise<Result>((resolve, reject) => {
        if (worker === undefined || isClosing)
          return reject(unconfirmedChange(undefined, restartSeconds))
        const changer = changerIn(change)
        if (!queued.hasRoom(changer)) return reject(queueFull())
        const settle = { resolve: (result: unknown) => resolve(result as Result), reject }
        queued.add({ type, change, ...settle }, changer)
        if (queued.count() === eagerBatch) sendNextBatch()
        else if (queued.count() === 1 && batch.length === 0) {
          setImmediate(() => {
            // Otherwise it was sent meanwhile, perhaps with `close` after it, which must not be repeated.
            if (queued.count() > 0) sendNextBatch()
          })
        }
      })
    },
    /** Whether the storage accepted the last batch. */
    isWritable: () => isWritable,
    async close() {
      isClosing = true
      if (worker === undefined) return
      const exit = once(worker, 'exit')
      sendNextBatch()
      await exit
    },
  }
}

/** Resolves when the thread is ready. Rejects with the error that keeps it from starting. */
function startWorker(module: URL, location: DatabaseFile): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(module, { workerData: location, stdin: false })
    worker.once('error', reject)
    worker.once('message', (reply: WriterReply) => {
      worker.off('error', reject)
      if (reply.type === 'start_failed') reject(unpackError(reply.error))
      else resolve(worker)
    })
  })
}
