import { Worker } from 'node:worker_threads'
import type { Census } from '../../core/records.ts'
import { siblingModule } from '../../runtime/modules.ts'

/** Counts keys in a thread of its own, since counting a million takes a second. */
export function createCensus(file: string) {
  let worker: Worker | undefined
  return {
    take(time: string): Promise<Census> {
      const source = siblingModule(import.meta.url, 'census-thread')
      const counter = new Worker(source, { workerData: { file, time }, stdin: false })
      counter.unref()
      worker = counter
      return new Promise((resolve, reject) => {
        counter.once('message', resolve)
        counter.once('error', reject)
        counter.once('exit', () => reject(new Error('the count was interrupted')))
      })
    },
    /** Ends a count in progress. */
    async close() {
      await worker?.terminate()
    },
  }
}
