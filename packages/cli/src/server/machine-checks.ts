import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createBlocklist } from '@pubring/intake/blocklist'
import type { Config, settings } from '@pubring/server/config/server-settings'
import { eventStreamPlaces } from '@pubring/server/features/events/feed'
import { heldRequestPlaces } from '@pubring/server/features/publishing/held-requests'
import { examineProvider } from '@pubring/server/features/sign-in/provider/provider'
import { createIntakePool } from '@pubring/server/intake/pool'
import { isPostgres } from '@pubring/server/kernel/storage/database-url'
import { sqliteFileOf } from '@pubring/server/kernel/storage/open'
import { requireWholeDatabase } from '@pubring/server/kernel/storage/sqlite/file'
import { createOutboundFetch } from '@pubring/server/outbound/outbound'
import { systemClock } from '@pubring/server/runtime/clock'
import type { Step } from '../terminal/table.ts'
import { readBlocklist } from './blocklist.ts'
import { maxConnections, metricsSettings, outboundOptions, requireFreePort } from './instance.ts'
import { logKeyFile, logStateFile, openLogSigner } from './log-key.ts'

/** Less free space than this is reported, and not even a start succeeds with less than that. */
const fewBytes = 256 * 2 ** 20
const tooFewBytes = 2 ** 20

/** A finding that may be intended, and does not keep the server from starting. */
class Warning extends Error {}

/** The file that a setting names. */
type NamedFile = (setting: keyof typeof settings) => string | undefined

type Check = (config: Config, named: NamedFile) => string | Promise<string>

/** Settings that name a file with a secret; that of the log key has a default. */
const secretSettings = [
  'adminApiKeyFile',
  'databasePasswordFile',
  'oidcClientSecretFile',
  'oidcPrivateKeyFile',
] as const

/**
 * The checks of this machine by name, which are those that `serve` makes. Each returns what is right,
 * or throws an error that says what to do.
 */
export const machineChecks = {
  blocklist(config) {
    const { blocklist } = readBlocklist(config)
    if (blocklist === undefined) return 'none configured'
    createBlocklist(blocklist)
    return 'readable'
  },
  folder({ databaseUrl }) {
    if (isPostgres(databaseUrl)) return 'none needed for PostgreSQL'
    const file = resolve(sqliteFileOf(databaseUrl))
    requireWholeDatabase(file)
    let folder = dirname(file)
    while (!existsSync(folder)) folder = dirname(folder)
    requireWritable(`${folder}/.`)
    if (existsSync(file)) requireWritable(file)
    const { bavail, bsize } = statfsSync(folder)
    const space = `${Math.floor((bavail * bsize) / 2 ** 20)} MB are free in ${folder}: free some space`
    if (bavail * bsize < tooFewBytes) throw new Error(space)
    if (bavail * bsize < fewBytes) throw new Warning(space)
    return `this user can write to ${folder}`
  },
  'log key'(config) {
    const file = logKeyFile(config)
    if (file === undefined) return 'none: this server signs no checkpoints of the log'
    const isMissing = openLogSigner(config, { create: false }) === undefined
    const folder = dirname(resolve(logStateFile(config) ?? file))
    if (!(isMissing && config.logStateFile === undefined) && !isWritable(folder)) {
      throw new Error(
        `this user cannot write to ${folder}, where the signed checkpoints of the log are stored: set PUBRING_LOG_STATE_FILE`,
      )
    }
    return isMissing ? `there is no ${file} yet: pubring serve creates it` : file
  },
  secrets(config, named) {
    const { databaseUrl } = config
    const query = new URLSearchParams(isPostgres(databaseUrl) ? databaseUrl.split('?')[1] : '')
    const files = [
      logKeyFile(config),
      ...secretSettings.map(named),
      ...['password_file', 'passfile', 'sslkey'].map((name) => query.get(name)),
    ].filter((file) => typeof file === 'string')
    const open = files.filter((file) => {
      const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
      return (mode & 0o007) !== 0
    })
    if (open.length === 0) return 'no file of a secret can be read by other users'
    const list = [...new Set(open)].join(' ')
    throw new Warning(`other users can read ${list}: chmod 600 ${list}`)
  },
  async 'OpenID provider'({ oidc, ...config }) {
    if (oidc === undefined) return 'none configured'
    const intake = createIntakePool(readBlocklist(config))
    const context = {
      clock: systemClock,
      fetch: createOutboundFetch(outboundOptions(config)),
      intakeFor: intake.for,
    }
    const redirectUri = `${config.publicUrl}/sign-in/callback`
    const examined = examineProvider(context, oidc, redirectUri)
    const { failed, steps } = await examined.finally(() => intake.close())
    const faults = steps.filter(({ outcome }) => outcome === 'warned' || outcome === 'failed')
    const text = (faults.length > 0 ? faults : steps).map(({ detail }) => detail).join(' ')
    if (failed !== undefined) throw new Error(text)
    if (faults.length > 0) throw new Warning(text)
    return text
  },
  async port(config) {
    await requireFreePort(config)
    const { metricsPort: metrics } = config
    if (metrics?.port === config.port) {
      throw new Error(`PUBRING_PORT and PUBRING_METRICS_PORT are both ${config.port}: change one`)
    }
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
} satisfies Record<string, Check>

/** The step of one check. */
export async function runCheck(
  step: string,
  check: Check,
  ...values: Parameters<Check>
): Promise<Step> {
  try {
    return { step, outcome: 'passed', detail: await check(...values) }
  } catch (error) {
    const failed = failedStep(step, error)
    return error instanceof Warning ? { ...failed, outcome: 'warned' } : failed
  }
}

/** A step that failed with the error, or for the reason. */
export function failedStep(step: string, error: unknown): Step {
  return { step, outcome: 'failed', detail: error instanceof Error ? error.message : String(error) }
}

function requireWritable(path: string): void {
  if (isWritable(path)) return
  throw new Error(
    `this user cannot write to ${resolve(path)}: change its owner or PUBRING_DATABASE_URL`,
  )
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
