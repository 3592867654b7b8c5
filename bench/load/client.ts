import { fork } from 'node:child_process'
import { once } from 'node:events'
import { generatorCores, pin } from '../server/cores.ts'
import type { GeneratorCommand, GeneratorMessage, LoadResult, LoadTask } from './task.ts'

/** A process that sends requests. */
export interface LoadGenerator {
  /**
   * Runs the task; ends early when `until` settles. Rejects if a response was not the expected one.
   */
  run(task: LoadTask, until?: Promise<unknown>): Promise<LoadResult>
  close(): void
}

/** Starts a load generator, by default on a core of its own. */
export function startGenerator(cores = generatorCores): LoadGenerator {
  const child = fork(new URL('./generator.ts', import.meta.url), { serialization: 'advanced' })
  pin([child.pid ?? 0], cores)
  const send = (command: GeneratorCommand) => child.send(command)
  return {
    async run(task, until) {
      send({ task })
      const stop = () => send({ stop: true })
      until?.then(stop, stop)
      const [message]: GeneratorMessage[] = await once(child, 'message')
      if (message === undefined) throw new Error('the load generator is gone')
      if ('failure' in message) {
        const { method, path } = task.calls[0] ?? { method: '', path: '' }
        throw new Error(`${method} ${path}: ${message.failure}`)
      }
      return message.result
    },
    close: () => child.kill(),
  }
}
