import { existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import process from 'node:process'
import { type Config, loadConfig, settings } from '@pubring/server/config/server-settings'
import { faults } from '@pubring/server/features/log/faults'
import { countKeys } from '@pubring/server/features/warnings/census'
import { isPostgres } from '@pubring/server/kernel/storage/database-url'
import {
  type DatabaseReport,
  inspectDatabase,
  sqliteFileOf,
} from '@pubring/server/kernel/storage/open'
import { present } from '@pubring/server/runtime/present'
import { exitCodes } from '../terminal/exit-codes.ts'
import { formatSteps, type Step } from '../terminal/table.ts'
import { printResult, type Terminal } from '../terminal/terminal.ts'
import { databaseSteps } from './database-steps.ts'
import { failedStep, machineChecks, runCheck } from './machine-checks.ts'

const healthTimeoutMs = 5_000

/** Advice about a log that has stopped, by the reason. */
const logFaults: Readonly<Record<string, string>> = faults

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
    const named = (name: keyof typeof settings) => flags[name] ?? env[settings[name].env]
    steps.push({ step: 'settings', outcome: 'passed', detail: 'valid' })
    const address = url ?? localAddress(config)
    const server = await serverStep(address).catch(() => undefined)
    steps.push(server ?? missingServer(address, url !== undefined))
    // A server that answers may have its database, and the key of its log, in another folder.
    const isElsewhere =
      server !== undefined && named('databaseUrl') === undefined && isMissing(config)
    if (url === undefined) {
      const { port, folder, 'log key': logKey, ...others } = machineChecks
      const ofDatabase = isElsewhere ? {} : { folder, 'log key': logKey }
      const applicable = { ...others, ...ofDatabase, ...(server === undefined && { port }) }
      for (const [step, check] of Object.entries(applicable)) {
        steps.push(await runCheck(step, check, config, named))
      }
    }
    if (named('databaseUrl') !== undefined || (url === undefined && !isElsewhere)) {
      const found = await examineDatabase(config)
      if ('step' in found) steps.push(found)
      else database = found
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

/** The report of the database, or the step that says why there is none. */
async function examineDatabase(config: Config): Promise<DatabaseReport | Step> {
  if (isMissing(config)) {
    const detail = `there is no ${resolve(sqliteFileOf(config.databaseUrl))} yet: pubring serve creates it`
    return { step: 'database', outcome: 'skipped', detail }
  }
  return inspectDatabase(config, countKeys).catch((error) => failedStep('database', error))
}

/** Whether it is a file that does not exist. */
function isMissing({ databaseUrl }: Config): boolean {
  return !isPostgres(databaseUrl) && !existsSync(sqliteFileOf(databaseUrl))
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
  const { state, reason, log, logReason } = Object(await ready.json())
  if (!ready.ok) return failedStep('server', `${url} is not ready (${reason}): see its log`)
  const detail = `${url} serves ${state === 'stale' ? 'stale' : 'fresh'} key sets`
  if (!write.ok) return failedStep('server', `${detail}, but changes fail: see its log`)
  if (log === 'stopped') {
    const advice = logFaults[String(logReason)]
    if (advice === undefined) {
      const text = `${detail} and accepts changes, but its last attempt to sign a checkpoint of the log failed: the log of the server says why`
      return { step: 'server', outcome: 'warned', detail: text }
    }
    return failedStep(
      'server',
      `${detail} and accepts changes, but its log has stopped (${logReason}). ${advice}`,
    )
  }
  return { step: 'server', outcome: 'passed', detail: `${detail} and accepts changes` }
}
