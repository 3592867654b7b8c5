import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Change, ChangeOf, ChangeResults, ChangeType } from '../../core/ledger/changes.ts'
import { PubringError } from '../../errors.ts'
import { siblingModule } from '../../runtime/modules.ts'
import { unpackError, type WriterAnswer, type WriterMessage } from './messages.ts'

/** Changes committed together at most. */
const maxBatch = 256

/** Changes that may wait; beyond it a caller is told to come back. */
const maxWaiting = 4_096

/** The file, and the descriptor by which this process holds it open. */
interface DatabaseFile {
  file: string
  descriptor: number
}

interface Waiting {
  change: Change
  resolve(result: ChangeResults[ChangeType]): void
  reject(error: Error): void
}

export interface WriterThread {
  commit<T extends ChangeType>(change: ChangeOf<T>): Promise<ChangeResults[T]>
  /** Whether the last changes could be written, as far as the storage was concerned. */
  isWritable(): boolean
  close(): Promise<void>
}

/**
 * Starts the writing thread; resolves once the file is open and its schema up to date. Changes are
 * sent in batches: all that arrived while the batch before was on its way, without any timer.
 */
export async function startWriterThread(where: DatabaseFile): Promise<WriterThread> {
  let waiting: Waiting[] = []
  let sent: Waiting[] = []
  let closing = false
  let writable = true
  /** Undefined while a lost thread is being replaced. */
  let worker: Worker | undefined

  function adopt(started: Worker): void {
    worker = started
    started.on('message', settle)
    started.on('error', () => {})
    started.on('exit', lose)
    if (closing) post({ type: 'close' })
  }
  function post(message: WriterMessage): void {
    worker?.postMessage(message)
  }
  function send(): void {
    if (sent.length > 0) return
    sent = waiting.slice(0, maxBatch)
    waiting = waiting.slice(maxBatch)
    if (sent.length > 0) post({ type: 'commit', changes: sent.map(({ change }) => change) })
    else if (closing) post({ type: 'close' })
  }
  function settle(answer: WriterAnswer): void {
    if (answer.type === 'lost') giveUp(unpackError(answer.error))
    if (answer.type !== 'committed') return
    writable = true
    const settled = sent
    sent = []
    send()
    answer.replies.forEach((reply, index) => {
      if (reply.ok) settled[index]?.resolve(reply.result)
      else settled[index]?.reject(unpackError(reply.error))
    })
  }
  /** Whoever waits is told at once: to try theirs as well could take as long again for each batch. */
  function giveUp(error: Error): void {
    writable = false
    const lost = [...sent, ...waiting]
    sent = []
    waiting = []
    for (const { reject } of lost) reject(error)
    send()
  }
  function lose(): void {
    worker = undefined
    giveUp(writerLost())
    if (!closing) replace()
  }
  function replace(): void {
    startWorker(where).then(adopt, () => setTimeout(() => closing || replace(), 1_000).unref())
  }
  adopt(await startWorker(where))

  return {
    commit<T extends ChangeType>(change: ChangeOf<T>) {
      return new Promise<ChangeResults[T]>((resolve, reject) => {
        if (worker === undefined || closing) return reject(writerLost())
        if (waiting.length >= maxWaiting) return reject(queueFull())
        waiting.push({ change, resolve: (result) => resolve(result as ChangeResults[T]), reject })
        if (waiting.length === 1 && sent.length === 0) queueMicrotask(send)
      })
    },
    isWritable: () => writable,
    async close() {
      closing = true
      if (worker === undefined) return
      const gone = once(worker, 'exit')
      send()
      await gone
    },
  }
}

/** Resolves when the thread is ready, rejects with what kept it from starting. */
function startWorker(where: DatabaseFile): Promise<Worker> {
  const source = siblingModule(import.meta.url, 'writer')
  return new Promise((resolve, reject) => {
    const worker = new Worker(source, { workerData: where, stdin: false })
    worker.once('error', reject)
    worker.once('message', (answer: WriterAnswer) => {
      worker.off('error', reject)
      if (answer.type === 'failed') reject(unpackError(answer.error))
      else resolve(worker)
    })
  })
}

function writerLost(): PubringError {
  return new PubringError(
    'storage_unavailable',
    'The storage was interrupted before it could confirm the change. Check whether it took place, then repeat it if not.',
    { retryAfter: 1 },
  )
}

function queueFull(): PubringError {
  return new PubringError(
    'overloaded',
    'Too many changes are waiting to be written. Try again shortly.',
    {
      retryAfter: 1,
    },
  )
}
