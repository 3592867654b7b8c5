import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Launch } from '../../test/support/server/process.ts'
import { createReplicas } from '../../test/support/server/replicas.ts'
import type { BenchConfig } from '../config.ts'
import { cpuMicros, residentMib } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { type Database, type Databases, type Engine, engineNames } from '../server/databases.ts'

/**
 * Milliseconds from the start of the process to the first 200 of `/health/ready`, by the clock and of
 * CPU time, and its resident memory after an idle time.
 */
export async function measureStart(database: Database, launch: Launch = {}, idleMs = 0) {
  const replicas = createReplicas(database.url)
  try {
    const start = performance.now()
    const replica = await replicas.spawn({}, launch)
    while ((await replica.call('GET', '/health/ready')).status !== 200) {
      if (performance.now() - start > 60_000) throw new Error(`not ready:\n${replica.output()}`)
      await delay(2)
    }
    const ms = performance.now() - start
    const cpuMs = cpuMicros([replica.pid]) / 1_000
    await delay(idleMs)
    return { ms, cpuMs, mib: residentMib([replica.pid]) }
  } finally {
    await replicas.close()
  }
}

/** A server writes Node's compile cache at a regular exit; later starts read it. */
async function fillCompileCache(database: Database, launch: Launch): Promise<void> {
  const replicas = createReplicas(database.url)
  try {
    const replica = await replicas.add({}, launch)
    replica.signal('SIGTERM')
    await replica.ended
  } finally {
    await replicas.close()
  }
}

/** Builds what the package contains, where it finds the dependencies of the checkout. */
function buildPackage(): Launch {
  const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
  const folder = path('node_modules/.cache/package')
  execFileSync(process.execPath, [path('scripts/build-package.ts'), folder])
  return { program: `${folder}/packages/cli/src/main.js` }
}

/** Starts of the package and of a checkout by turns, on blank databases, whose schema the server creates. */
export async function measureStarts(
  databases: Databases,
  engine: Engine,
  { starts, settleSeconds }: Pick<BenchConfig, 'starts' | 'settleSeconds'>,
): Promise<Figure[]> {
  const forms = [
    { name: 'package', launch: buildPackage() },
    { name: 'checkout', launch: {} },
  ].map((form) => ({ ...form, runs: [] as Awaited<ReturnType<typeof measureStart>>[] }))
  for (const { launch } of forms) await fillCompileCache(await databases.create(engine), launch)
  for (let count = 0; count < starts; count += 1) {
    for (const { launch, runs } of forms) {
      runs.push(await measureStart(await databases.create(engine), launch, settleSeconds * 1_000))
    }
  }
  const server = engineNames[engine]
  return forms.flatMap(({ name, runs }): Figure[] => [
    {
      name: `start to ready, ${name}`,
      server,
      unit: 'ms',
      value: spreadOf(runs.map(({ ms }) => ms)),
      target: { max: 500 },
      note: 'from the start of the process to the first 200 of /health/ready, including the creation of the schema; with a filled compile cache',
    },
    {
      name: `start to ready, ${name}, CPU`,
      server,
      unit: 'ms',
      value: spreadOf(runs.map(({ cpuMs }) => cpuMs)),
      note: 'CPU time of all threads until then',
    },
    {
      name: `memory, idle, ${name}`,
      server,
      unit: 'MiB',
      value: spreadOf(runs.map(({ mib }) => mib)),
      target: { max: 110 },
      note: `resident, ${settleSeconds} s after the start`,
    },
  ])
}
