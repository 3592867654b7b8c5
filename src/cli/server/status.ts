import { loadConfig } from '../../config/server-settings.ts'
import { present } from '../../runtime/present.ts'
import type { DatabaseReport } from '../../storage/inspect.ts'
import { inspectDatabase } from '../../storage/inspect.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import type { DatabaseFlags } from '../database/flags.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { formatSteps, type Step } from '../terminal/table.ts'
import { printResult, type Terminal } from '../terminal/terminal.ts'

const healthTimeoutMs = 5_000

/** A standby this far behind, or a clock this far off, is reported. */
const maxLagBytes = 16 * 1024 * 1024
const maxClockSkewMs = 1_000

/** Shows the state of the server and its database; exit code 1 if something is wrong. */
export async function showStatus(
  terminal: Terminal,
  { url: urlFlag, databaseUrl }: Pick<ConnectionFlags, 'url'> & DatabaseFlags,
): Promise<void> {
  const { env } = terminal
  const { url } = resolveConnection(env, present({ url: urlFlag }))
  const config = loadConfig(env, { databaseUrl })
  const [server, database] = await Promise.all([
    serverStep(url).catch(() =>
      failedStep('server', `${url} does not answer: start it, or name its address with --url`),
    ),
    inspectDatabase(config).catch((error: unknown) => failedStep('database', error)),
  ])
  const steps = 'step' in database ? [database] : databaseSteps(database)
  printSteps(terminal, [server, ...steps], 'step' in database ? {} : { database })
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
      'its log has stopped, because it no longer extends what was signed: restore what is missing, or start a new epoch (pubring log new-epoch)'
    return failedStep('server', `${detail} and accepts changes, but ${advice}`)
  }
  return { step: 'server', outcome: 'passed', detail: `${detail} and accepts changes` }
}

const schemas: Record<NonNullable<DatabaseReport['schema']>, string> = {
  none: 'empty: pubring serve creates the schema',
  older: 'the schema of an older release: pubring serve updates it',
  current: 'the schema of this release',
  newer: 'the schema of a newer release, beside which this one can run',
}

/** What the state of the database means for a server, and what to do. */
export function databaseSteps({ engine, hosts, schema, keys }: DatabaseReport): Step[] {
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

/** Prints the steps; exit code 1 if one has failed. */
export function printSteps(terminal: Terminal, steps: readonly Step[], document = {}): void {
  const healthy = !steps.some(({ outcome }) => outcome === 'failed')
  printResult(terminal, { healthy, ...document, steps }, () => formatSteps(terminal, steps))
  if (!healthy) terminal.exitCode = exitCodes.failed.code
}

/** A step that failed with the error, or for the reason. */
export function failedStep(step: string, error: unknown): Step {
  return { step, outcome: 'failed', detail: error instanceof Error ? error.message : String(error) }
}
