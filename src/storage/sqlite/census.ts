import { Worker } from 'node:worker_threads'
import type { Store } from '../../core/context.ts'
import type { Census } from '../../core/records.ts'
import { siblingModule } from '../../runtime/modules.ts'

interface CensusTaker {
  take: Store['census']
  /** Ends a count in progress. */
  close(): Promise<void>
}

/** Counts keys in a thread of its own, since counting a million takes a second. */
export function createCensus(file: string): CensusTaker {
  let worker: Worker | undefined
  return {
    take(time) {
      const source = siblingModule(import.meta.url, 'census-thread')
      const counter = new Worker(source, { workerData: { file, time }, stdin: false })
      counter.unref()
      worker = counter
      return new Promise<Census>((resolve, reject) => {
        counter.once('message', resolve)
        counter.once('error', reject)
        counter.once('exit', () => reject(new Error('the count was interrupted')))
      })
    },
    async close() {
      await worker?.terminate()
    },
  }
}
