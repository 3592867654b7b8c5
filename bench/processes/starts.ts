import { setTimeout as delay } from 'node:timers/promises'
import { createReplicas } from '../../test/support/server/replicas.ts'
import type { BenchConfig } from '../config.ts'
import { residentMib } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { type Database, type Databases, type Engine, engineNames } from '../server/databases.ts'

/**
 * Milliseconds from the start of the process to the first 200 of `/health/ready`, and its resident
 * memory after an idle time.
 */
export async function measureStart(
  database: Database,
  idleMs = 0,
): Promise<{ ms: number; mib: number }> {
  const replicas = createReplicas(database.url)
  try {
    const start = performance.now()
    const replica = await replicas.spawn()
    while ((await replica.call('GET', '/health/ready')).status !== 200) {
      if (performance.now() - start > 60_000) throw new Error(`not ready:\n${replica.output()}`)
      await delay(2)
    }
    const ms = performance.now() - start
    await delay(idleMs)
    return { ms, mib: residentMib([replica.pid]) }
  } finally {
    await replicas.close()
  }
}

/** A server writes Node's compile cache at a regular exit; later starts read it. */
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

/** Starts on blank databases, whose schema the server creates. */
export async function measureStarts(
  databases: Databases,
  engine: Engine,
  { starts, settleSeconds }: Pick<BenchConfig, 'starts' | 'settleSeconds'>,
): Promise<Figure[]> {
  const times: number[] = []
  const memory: number[] = []
  await fillCompileCache(await databases.create(engine))
  for (let count = 0; count < starts; count += 1) {
    const { ms, mib } = await measureStart(await databases.create(engine), settleSeconds * 1_000)
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
      target: { max: 500 },
      note: 'from the start of the process to the first 200 of /health/ready, including the creation of the schema; with a filled compile cache',
    },
    {
      name: 'memory, idle',
      server,
      unit: 'MiB',
      value: spreadOf(memory),
      target: { max: 110 },
      note: `resident, ${settleSeconds} s after the start`,
    },
  ]
}
