import { mkdirSync } from 'node:fs'
import { expect } from 'vitest'
import { faultInjection } from '../../support/faults/injection.ts'
import { freePort } from '../../support/server/process.ts'
import type { Replica, Replicas } from '../../support/server/replicas.ts'

/** A replica that can be replaced: its successors have the same ports and settings. */
export interface Place {
  url: string
  /** Host and port of the metrics. */
  metrics: string
  isReady(): Promise<boolean>
  /** Kills it, and starts it again after the given number of milliseconds. */
  kill(downtime?: number): Promise<void>
  /** Shuts it down and starts another release, by default this checkout's. */
  replace(program?: string): Promise<void>
  /** Sets its clock that many milliseconds off. */
  setClock(shift: number): Promise<void>
}

/** Starts a replica. */
export async function startPlace(
  replicas: Replicas,
  folder: string,
  settings: Record<string, string>,
): Promise<Place> {
  mkdirSync(folder)
  const faults = faultInjection(folder)
  const [port, metricsPort] = [await freePort(), await freePort()]
  const env = {
    ...settings,
    ...faults.env,
    PUBRING_PORT: String(port),
    PUBRING_METRICS_PORT: String(metricsPort),
  }
  let program: string | undefined
  let replica: Replica
  async function start(): Promise<void> {
    const launch = { ...faults.launch, ...(program === undefined ? {} : { program }) }
    replica = await replicas.add(env, launch)
  }
  await start()
  return {
    url: `http://127.0.0.1:${port}`,
    metrics: `127.0.0.1:${metricsPort}`,
    isReady: async () => (await replica.call('GET', '/health/ready')).status === 200,
    async kill(downtime = 0) {
      replica.signal('SIGKILL')
      await replica.ended
      await new Promise((resolve) => setTimeout(resolve, downtime))
      await start()
    },
    async replace(next) {
      replica.signal('SIGTERM')
      expect(await replica.ended, replica.output().slice(-2_000)).toBe(0)
      program = next
      await start()
    },
    setClock: (shift) => faults.set({ shift }),
  }
}

/** Runs one task at a time, so that no two replicas are away together. */
export function createLock(): (work: () => Promise<void>) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = last.then(work)
    last = next.catch(() => {})
    return next
  }
}
