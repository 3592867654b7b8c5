import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Accepted } from '../../packages/intake/src/types.ts'

export interface FreshKeys {
  /** Returns this many new keys; generates more in the background. */
  take(count: number): Promise<Accepted[]>
  close(): Promise<void>
}

/** Generates keys in a thread per processor, one batch ahead of demand. */
export function createFreshKeys(batchSize = 500): FreshKeys {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(new URL('./key-maker.ts', import.meta.url)),
  )
  const batches = workers.map(order)
  let ready: Accepted[] = []
  let current = 0

  /** Orders the next batch from a thread; rejects if the thread dies. */
  async function order(worker: Worker): Promise<Accepted[]> {
    worker.postMessage(batchSize)
    const [keys]: Accepted[][] = await once(worker, 'message')
    return keys ?? []
  }
  async function next(): Promise<Accepted[]> {
    const worker = workers[current]
    const keys = await batches[current]
    if (worker === undefined || keys === undefined) throw new Error('no thread generates keys')
    batches[current] = order(worker)
    current = (current + 1) % workers.length
    return keys
  }
  return {
    async take(count) {
      while (ready.length < count) ready = ready.concat(await next())
      const taken = ready.slice(0, count)
      ready = ready.slice(count)
      return taken
    },
    async close() {
      await Promise.all(batches)
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}
