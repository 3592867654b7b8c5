import { hash } from 'node:crypto'
import process from 'node:process'
import type { HttpApp } from '@pubring/server/app'
import type { Config } from '@pubring/server/config/server-settings'
import { prepareRegistry } from '@pubring/server/first-start'
import { filesOfAddress } from '@pubring/server/kernel/storage/postgres/address'
import { readBlocklist, readNamed } from './blocklist.ts'
import type { Registry } from './instance.ts'

/** The settings that can change without a restart. */
interface Reloadable {
  config: Config
  /** Digests of the files that are not read with the settings, by name. */
  files: ReadonlyMap<string, string>
}

export interface Server {
  app: HttpApp
  registry: Registry
}

/**
 * Listens for SIGHUP, to re-read the settings in files and log what has changed. If one of them
 * cannot be used, nothing changes and the log says why. Returns a function that sets the server; a
 * signal before that takes effect then.
 */
export function prepareReloads(config: Config, load: () => Config): (server: Server) => void {
  let current = readFiles(config)
  const { promise: starting, resolve: setServer } = Promise.withResolvers<Server>()
  let reloading: Promise<unknown> = starting
  async function reload(): Promise<void> {
    const server = await starting
    try {
      const next = readFiles(load())
      await apply(next.config, changesBetween(current, next), server)
      current = next
    } catch (error) {
      const reason = error instanceof Error ? error.message : error
      server.app.log.error({ reason }, 'settings not re-read: the previous ones stay in use')
    }
  }
  // On a terminal, SIGHUP says that it has been closed.
  if (!process.stdout.isTTY) {
    process.on('SIGHUP', () => {
      reloading = reloading.then(reload)
    })
  }
  return setServer
}

/** Throws one line for a person if a file cannot be read. */
function readFiles(config: Config): Reloadable {
  const { databaseUrl, databaseReplicaUrl = '', blocklist } = config
  const named = [...filesOfAddress(databaseUrl), ...filesOfAddress(databaseReplicaUrl)]
  if (blocklist !== undefined) named.push(['PUBRING_BLOCKLIST', blocklist])
  const digests = named.map(([name, file]) => {
    return [`${name} ${file}`, hash('sha256', readNamed(name, file))] as const
  })
  return { config, files: new Map(digests) }
}

/** Names of settings, those of files that are read elsewhere with the file. */
function changesBetween(old: Reloadable, next: Reloadable): string[] {
  const { adminApiKey, oidc } = next.config
  const before = old.config.oidc
  const files = [...next.files].filter(([name, digest]) => old.files.get(name) !== digest)
  return [
    ...(adminApiKey === old.config.adminApiKey ? [] : ['PUBRING_ADMIN_API_KEY_FILE']),
    ...(oidc?.clientSecret === before?.clientSecret ? [] : ['PUBRING_OIDC_CLIENT_SECRET_FILE']),
    ...(oidc?.privateKey === before?.privateKey ? [] : ['PUBRING_OIDC_PRIVATE_KEY_FILE']),
    ...files.map(([name]) => name),
  ]
}

/** The files of the database are read by each new connection. */
async function apply(config: Config, changed: string[], { app, registry }: Server): Promise<void> {
  const hasChanged = (name: string) => changed.some((change) => change.startsWith(name))
  if (hasChanged('PUBRING_BLOCKLIST')) registry.replaceBlocklist(readBlocklist(config).blocklist)
  if (hasChanged('PUBRING_ADMIN')) await prepareRegistry(registry.context, config.adminApiKey)
  if (config.oidc !== undefined) {
    const { signInOf } = await import('@pubring/server/features/sign-in/sign-in')
    const signIn = await signInOf(app.kernel)
    signIn?.replaceSecrets(config.oidc)
  }
  // Logged at every level, the old one and the new one.
  app.log.level = 'info'
  app.log.info({ changed }, 'settings re-read')
  app.log.level = config.logLevel
}
