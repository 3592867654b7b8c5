import { accessSync, constants, existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { dirname, resolve } from 'node:path'
import process from 'node:process'
import { type Config, loadConfig, settings } from '@pubring/server/config/server-settings'
import { eventStreamPlaces } from '@pubring/server/features/events/feed'
import { heldRequestPlaces } from '@pubring/server/features/publishing/held-requests'
import { countKeys } from '@pubring/server/features/warnings/census'
import { type DatabaseReport, inspectDatabase } from '@pubring/server/kernel/storage/inspect'
import { isPostgres, sqliteFileOf } from '@pubring/server/kernel/storage/open'
import { present } from '@pubring/server/runtime/present'
import { exitCodes } from '../terminal/exit-codes.ts'
import { formatSteps, type Step } from '../terminal/table.ts'
import { printResult, type Terminal } from '../terminal/terminal.ts'
import { readBlocklist } from './blocklist.ts'
import { maxConnections, metricsSettings, requireFreePort } from './instance.ts'

const healthTimeoutMs = 5_000

/** A standby this far behind, or a clock this far off, is reported. */
const maxLagBytes = 16 * 1024 * 1024
const maxClockSkewMs = 1_000

/** A finding that may be intended, and does not keep the server from starting. */
class Warning extends Error {}

/** The checks by name. Each returns what is right, or throws an error that says what to do. */
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

/** Flags of `doctor`: those of `serve`, and the address of another server. */
type DoctorFlags = Record<string, string | undefined> & { url?: string }

/**
 * Says how the server and its database are, and what keeps `pubring serve` from working here; exit code
 * 1 if something is wrong. With `url` it looks at that server instead of this machine.
 */
export async function diagnose(terminal: Terminal, { url, ...flags }: DoctorFlags): Promise<void> {
  const { env } = terminal
  const steps: Step[] = [{ step: 'Node', outcome: 'passed', detail: process.version }]
  let database: DatabaseReport | undefined
  try {
    const config = loadConfig(env, flags)
    steps.push({ step: 'settings', outcome: 'passed', detail: 'valid' })
    const server = await serverStep(url ?? localAddress(config)).catch(() => undefined)
    steps.push(server ?? missingServer(url ?? localAddress(config), url !== undefined))
    if (url === undefined) {
      const { port, ...others } = checks
      const applicable = server === undefined ? checks : others
      for (const [step, check] of Object.entries(applicable)) {
        steps.push(await run(step, config, check))
      }
    }
    const isConfigured = flags.databaseUrl !== undefined || env[settings.databaseUrl.env]
    if (url === undefined || isConfigured) {
      const { databaseUrl } = config
      const file = isPostgres(databaseUrl) ? undefined : resolve(sqliteFileOf(databaseUrl))
      if (file !== undefined && !existsSync(file)) {
        const detail = `there is no ${file} yet: pubring serve creates it`
        steps.push({ step: 'database', outcome: 'skipped', detail })
      } else {
        database = await inspectDatabase(config, countKeys).catch((error) => {
          steps.push(failedStep('database', error))
          return undefined
        })
      }
    }
  } catch (error) {
    steps.push(failedStep('settings', error))
  }
  if (database !== undefined) steps.push(...databaseSteps(database))
  const healthy = !steps.some(({ outcome }) => outcome === 'failed')
  const document = { healthy, ...present({ database }), steps }
  printResult(terminal, document, () => formatSteps(terminal, steps))
  if (!healthy) terminal.exitCode = exitCodes.failed.code
}

function localAddress({ host, port }: Config): string {
  const name = /^(?:0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${port}`
}

function missingServer(url: string, isNamed: boolean): Step {
  return isNamed
    ? failedStep('server', `${url} does not answer: start it, or correct the address`)
    : { step: 'server', outcome: 'skipped', detail: `none runs at ${url}` }
}

async function serverStep(url: string): Promise<Step> {
  const get = (page: string) =>
    fetch(`${url}/health/${page}`, { signal: AbortSignal.timeout(healthTimeoutMs) })
  const [ready, write] = await Promise.all([get('ready'), get('write')])
  const { state, reason, log } = Object(await ready.json())
  if (!ready.ok) return failedStep('server', `${url} is not ready (${reason}): see its log`)
  const detail = `${url} serves ${state} key sets`
  if (!write.ok) return failedStep('server', `${detail}, but changes fail: see its log`)
  if (log === 'stopped') {
    const advice =
      'its log has stopped, because it no longer extends what was signed: restore what is missing, or restart it with a new key (pubring log restart)'
    return failedStep('server', `${detail} and accepts changes, but ${advice}`)
  }
  return { step: 'server', outcome: 'passed', detail: `${detail} and accepts changes` }
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

const schemas: Record<NonNullable<DatabaseReport['schema']>, string> = {
  none: 'empty: pubring serve creates the schema',
  older: 'the schema of an older release: pubring serve updates it',
  current: 'the schema of this release',
  newer: 'the schema of a newer release, beside which this one can run',
}

/** What the state of the database means for a server, and what to do. */
function databaseSteps({ engine, hosts, schema, keys }: DatabaseReport): Step[] {
  const primaries = hosts.filter(({ role }) => role === 'primary')
  const steps = hosts.map((host) => hostStep(host, primaries[0]))
  if (hosts.length > 0 && primaries.length !== 1) {
    const detail =
      primaries.length === 0
        ? 'no host accepts changes: start the primary, or promote a standby'
        : 'more than one host accepts changes: stop the one that was replaced'
    steps.push(failedStep('primary', detail))
  }
  for (const { host, clockSkewMs = 0 } of hosts) {
    if (Math.abs(clockSkewMs) <= maxClockSkewMs) continue
    const detail = `${host} is ${clockSkewMs} ms ahead of this machine: synchronize both with NTP`
    steps.push({ step: 'clock', outcome: 'warned', detail })
  }
  if (schema !== undefined) {
    steps.unshift({ step: 'database', outcome: 'passed', detail: `${engine}, ${schemas[schema]}` })
  }
  if (keys === undefined) return steps
  const detail = `${keys.active} active, ${keys.inactive} inactive or expired`
  return [...steps, { step: 'keys', outcome: 'passed', detail }]
}

type Host = DatabaseReport['hosts'][number]

function hostStep(
  { host, role, reason, position = Number.NaN, connections = 0, maxConnections = 1 }: Host,
  primary: Host | undefined,
): Step {
  if (role === 'unavailable') {
    const outcome = primary === undefined ? 'failed' : 'warned'
    return { step: 'host', outcome, detail: `${host}: ${reason}` }
  }
  if (role === 'read-only') {
    return failedStep('primary', `${host} is read-only: free its disk, or end the maintenance`)
  }
  if (role === 'primary') {
    const detail = `${host}, ${connections} of ${maxConnections} connections in use`
    if (connections < 0.9 * maxConnections) return { step: 'primary', outcome: 'passed', detail }
    const advice = 'lower pool_size or raise max_connections'
    return { step: 'primary', outcome: 'warned', detail: `${detail}: ${advice}` }
  }
  const lag = Math.max(0, (primary?.position ?? Number.NaN) - position)
  const detail = Number.isNaN(lag) ? host : `${host}, ${lag} bytes behind the primary`
  return { step: 'standby', outcome: lag > maxLagBytes ? 'warned' : 'passed', detail }
}

/** A step that failed with the error, or for the reason. */
function failedStep(step: string, error: unknown): Step {
  return { step, outcome: 'failed', detail: error instanceof Error ? error.message : String(error) }
}
