import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Accepted } from '../../src/intake/types.ts'

export interface FreshKeys {
  /** So many keys that nobody has had; more are made meanwhile. */
  take(count: number): Promise<Accepted[]>
  close(): Promise<void>
}

const batch = 500

/** Keys from as many threads as there are processors, some ahead of what was taken. */
export function createFreshKeys(): FreshKeys {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(new URL('./key-maker.ts', import.meta.url)),
  )
  const batches = workers.map(order)
  let ready: Accepted[] = []
  let turn = 0

  /** Has a thread make the next batch; rejects where the thread dies. */
  async function order(worker: Worker): Promise<Accepted[]> {
    worker.postMessage(batch)
    const [keys]: Accepted[][] = await once(worker, 'message')
    return keys ?? []
  }
  async function next(): Promise<Accepted[]> {
    const worker = workers[turn]
    const made = await batches[turn]
    if (worker === undefined || made === undefined) throw new Error('no thread makes keys')
    batches[turn] = order(worker)
    turn = (turn + 1) % workers.length
    return made
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
