import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import process from 'node:process'
import { type Config, loadConfig } from '../../config/server-settings.ts'
import { eventStreamPlaces } from '../../core/ledger/feed.ts'
import { heldRequestPlaces } from '../../core/publishing/held-requests.ts'
import { inspectDatabase } from '../../storage/inspect.ts'
import { isPostgres, sqliteFileOf } from '../../storage/open.ts'
import type { Step } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { readBlocklist } from './blocklist.ts'
import { maxConnections } from './descriptors.ts'
import { metricsSettings, requireFreePort } from './instance.ts'
import { databaseSteps, failedStep, printSteps } from './status.ts'

/** What may be intended, and does not keep the server from starting. */
class Warning extends Error {}

/** Each returns what is right, or throws what to do. */
const checks: Record<string, (config: Config) => string | Promise<string>> = {
  blocklist: (config) =>
    readBlocklist(config).blocklist === undefined ? 'none configured' : 'readable',
  folder({ databaseUrl }) {
    if (isPostgres(databaseUrl)) return 'none needed for PostgreSQL'
    const file = resolve(sqliteFileOf(databaseUrl))
    let folder = dirname(file)
    while (!existsSync(folder)) folder = dirname(folder)
    requireWritable(`${folder}/.`)
    if (existsSync(file)) requireWritable(file)
    return `this user can write to ${folder}`
  },
  async port(config) {
    await requireFreePort(config)
    const { metricsPort: metrics } = config
    if (metrics !== undefined) await requireFreePort(metrics, metricsSettings)
    return `${config.host}:${config.port} is free`
  },
  'public URL'({ publicUrl }) {
    const { hostname, protocol } = new URL(publicUrl)
    if (/^(localhost|127\..*|0\.0\.0\.0|\[::1?\])$/.test(hostname)) {
      throw new Warning(`other machines cannot reach ${publicUrl}: set PUBRING_PUBLIC_URL`)
    }
    if (protocol === 'https:') return publicUrl
    throw new Warning(`${publicUrl} is not https: key sets could be replaced on their way`)
  },
  connections() {
    const accepted = maxConnections()
    const wanted = heldRequestPlaces.capacity + eventStreamPlaces.capacity
    if (accepted === undefined || accepted > wanted) return 'enough open files'
    throw new Warning(
      `${accepted} connections at most, for ${wanted} held requests and event streams: raise the limit of open files (ulimit -n, LimitNOFILE)`,
    )
  },
}

/** Checks what keeps `pubring serve` from working here; exit code 1 if something does. */
export async function diagnose(
  terminal: Terminal,
  flags: Record<string, string | undefined>,
): Promise<void> {
  const steps: Step[] = [{ step: 'Node', outcome: 'passed', detail: process.version }]
  try {
    const config = loadConfig(terminal.env, flags)
    steps.push({ step: 'settings', outcome: 'passed', detail: 'valid' })
    for (const [step, check] of Object.entries(checks)) steps.push(await run(step, config, check))
    const inspecting = inspectDatabase(config).then(databaseSteps)
    steps.push(...(await inspecting.catch((error) => [failedStep('database', error)])))
  } catch (error) {
    steps.push(failedStep('settings', error))
  }
  printSteps(terminal, steps)
}

async function run(step: string, config: Config, check: (typeof checks)[string]): Promise<Step> {
  try {
    return { step, outcome: 'passed', detail: await check(config) }
  } catch (error) {
    const failed = failedStep(step, error)
    return error instanceof Warning ? { ...failed, outcome: 'warned' } : failed
  }
}

function requireWritable(path: string): void {
  try {
    accessSync(path, constants.W_OK)
  } catch {
    throw new Error(
      `this user cannot write to ${resolve(path)}: change its owner or PUBRING_DATABASE_URL`,
    )
  }
}
