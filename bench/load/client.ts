import { fork } from 'node:child_process'
import { once } from 'node:events'
import { generatorCores, pin } from '../server/cores.ts'
import type { LoadMessage, LoadResult, LoadTask } from './task.ts'

/** A process that makes requests, on a core of its own. */
export interface LoadGenerator {
  /** Rejects where one answer was not the expected one. */
  run(task: LoadTask): Promise<LoadResult>
  close(): void
}

export function startGenerator(): LoadGenerator {
  const child = fork(new URL('./generator.ts', import.meta.url), { serialization: 'advanced' })
  pin([child.pid ?? 0], generatorCores)
  return {
    async run(task) {
      child.send(task)
      const [message]: LoadMessage[] = await once(child, 'message')
      if (message === undefined) throw new Error('the load generator is gone')
      if ('spoiled' in message) {
        const { method, path } = task.calls[0] ?? { method: '', path: '' }
        throw new Error(`${method} ${path}: ${message.spoiled}`)
      }
      return message.result
    },
    close: () => child.kill(),
  }
}
