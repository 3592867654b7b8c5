import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../test/support/server/process.ts'
import { createReplicas } from '../../test/support/server/replicas.ts'
import { cpuMicros, residentMib } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { capture } from '../server/capture.ts'
import { type Database, engineNames } from '../server/databases.ts'

const idleMs = 10_000
const scrapes = 100

/** The memory of an idle server, and the CPU time of a scrape of its metrics. */
export async function measureIdle(database: Database): Promise<Figure[]> {
  const port = await freePort()
  const replicas = createReplicas(database.url)
  try {
    const { pid } = await replicas.add({ PUBRING_METRICS_PORT: `${port}` })
    await delay(idleMs)
    const mib = residentMib([pid])
    const before = cpuMicros([pid])
    for (let count = 0; count < scrapes; count += 1) {
      await capture(port, { method: 'GET', path: '/metrics', headers: {} })
    }
    const ms = (cpuMicros([pid]) - before) / scrapes / 1_000
    const server = engineNames[database.engine]
    return [
      { name: 'memory, idle', server, unit: 'MiB', value: spreadOf([mib]), note: 'resident' },
      { name: 'a scrape', server, unit: 'ms', value: spreadOf([ms]), note: 'CPU per request' },
    ]
  } finally {
    await replicas.close()
  }
}
