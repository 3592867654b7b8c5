import { setTimeout as delay } from 'node:timers/promises'
import { createReplicas } from '../test/support/server/replicas.ts'
import { residentMib, withChildren } from './load/usage.ts'
import type { Figure } from './report/figures.ts'
import { spreadOf } from './report/spread.ts'
import { type Database, type Databases, type Engine, engineNames } from './server/subject.ts'
import type { Extent } from './settings.ts'

/** Milliseconds from the start of the process to the first 200 of `/health/ready`; then its memory. */
export async function start(database: Database, rest = 0): Promise<{ ms: number; mib: number }> {
  const replicas = createReplicas(database.url)
  try {
    const began = performance.now()
    const replica = await replicas.spawn()
    while ((await replica.call('GET', '/health/ready')).status !== 200) {
      if (performance.now() - began > 60_000) throw new Error(`not ready:\n${replica.output()}`)
      await delay(2)
    }
    const ms = performance.now() - began
    await delay(rest)
    return { ms, mib: residentMib(withChildren(replica.pid)) }
  } finally {
    await replicas.close()
  }
}

/** The first start of a release on a machine compiles it, and a server that is told to end keeps that. */
async function fillCompileCache(database: Database): Promise<void> {
  const replicas = createReplicas(database.url)
  try {
    const replica = await replicas.add()
    replica.signal('SIGTERM')
    await replica.ended
  } finally {
    await replicas.close()
  }
}

/** Starts on databases without anything, the schema included. */
export async function measureStarts(
  databases: Databases,
  engine: Engine,
  { starts, settling }: Pick<Extent, 'starts' | 'settling'>,
): Promise<Figure[]> {
  const times: number[] = []
  const memory: number[] = []
  await fillCompileCache(await databases.make(engine))
  for (let count = 0; count < starts; count += 1) {
    const { ms, mib } = await start(await databases.make(engine), settling * 1_000)
    times.push(ms)
    memory.push(mib)
  }
  const server = engineNames[engine]
  return [
    {
      name: 'start to ready, empty',
      server,
      unit: 'ms',
      value: spreadOf(times),
      target: { most: 1_000 },
      note: 'from the start of the process to the first 200 of /health/ready; the schema is made, and the code compiled before',
    },
    {
      name: 'memory, idle',
      server,
      unit: 'MiB',
      value: spreadOf(memory),
      target: { most: 120 },
      note: `resident, ${settling} s after the start`,
    },
  ]
}
