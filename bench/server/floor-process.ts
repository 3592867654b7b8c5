import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Captured } from './capture.ts'
import { pin, serverCores } from './cores.ts'

export interface Floor {
  pids: number[]
  /** From now on it answers with this; resolves with its port. */
  serve(content: Captured): Promise<number>
  close(): void
}

/** Starts `floor.ts`, on the core that a server of one process has. */
export async function startFloor(): Promise<Floor> {
  const child = fork(new URL('./floor.ts', import.meta.url))
  await once(child, 'message')
  const pids = [child.pid ?? 0]
  pin(pids, serverCores(1))
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
