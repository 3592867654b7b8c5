import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { CapturedResponse } from './capture.ts'
import { pin, serverCores } from './cores.ts'

export interface Baseline {
  pids: number[]
  /** Serves this response from now on; resolves with the port. */
  serve(content: CapturedResponse): Promise<number>
  close(): void
}

/** Starts the baseline process on the core of a single server process. */
export async function startBaseline(): Promise<Baseline> {
  const child = fork(new URL('./baseline-process.ts', import.meta.url))
  await once(child, 'message')
  const pids = [child.pid ?? 0]
  pin(pids, serverCores)
  return {
    pids,
    async serve(content) {
      child.send(content)
      const [port] = await once(child, 'message')
      return port
    },
    close: () => child.kill(),
  }
}
