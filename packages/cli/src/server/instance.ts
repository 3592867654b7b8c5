import { once } from 'node:events'
import { createServer } from 'node:net'
import process from 'node:process'
import type { HttpApp } from '@pubring/server/app'
import type { Config } from '@pubring/server/config/server-settings'
import { createIntakePool } from '@pubring/server/intake/pool'
import type { Context } from '@pubring/server/kernel/context'
import { listenOn } from '@pubring/server/listen'
import { createOutboundFetch, type OutboundOptions } from '@pubring/server/outbound/outbound'
import { openServerStore } from '@pubring/server/registry'
import { present } from '@pubring/server/runtime/present'
import { readBlocklist } from './blocklist.ts'
import { openLogSigner } from './log-key.ts'

/** The registry of one process. */
export type Registry = Awaited<ReturnType<typeof openRegistry>>

/** Opens the configured store and the intake threads, which start with the first key. */
export async function openRegistry(config: Config) {
  const intake = createIntakePool(readBlocklist(config))
  const logSigner = openLogSigner(config, { create: true })
  const { databaseUrl, databaseReplicaUrl: replicaUrl } = config
  const { store, prepared } = await openServerStore(databaseUrl, replicaUrl)
  const context: Context = {
    store,
    clock: store.clock,
    config,
    ...present({ logSigner }),
    intakeFor: intake.for,
    fetch: createOutboundFetch(outboundOptions(config)),
  }
  return {
    context,
    /** Resolves once the store can be used; rejects with one line for a person if it never can. */
    prepared,
    /** Uses another list of compromised keys from now on. Throws if it is not valid. */
    replaceBlocklist: intake.replaceBlocklist,
    async close(): Promise<void> {
      await intake.close()
      await store.close()
    },
  }
}

/** How this process reaches other servers. */
export function outboundOptions(
  config: Pick<Config, 'outboundAllow' | 'outboundProxy' | 'outboundCaFile'>,
): OutboundOptions {
  return {
    allow: config.outboundAllow,
    proxy: config.outboundProxy,
    ca: config.outboundCaFile,
  }
}

/** The HTTP side of the registry, not yet listening. Closing it closes the registry. */
export async function createApp(registry: Registry, config: Config): Promise<HttpApp> {
  const { buildApp } = await import('@pubring/server/app')
  const app = await buildApp(registry.context, {
    ...config,
    metrics: config.metricsPort !== undefined,
    logPretty: process.stdout.isTTY === true,
  })
  const connections = maxConnections()
  if (connections !== undefined) app.server.maxConnections = connections
  if (registry.context.logSigner === undefined) {
    app.log.info('no PUBRING_LOG_KEY_FILE: this server signs no checkpoints of the log')
  }
  app.addHook('onClose', () => registry.close())
  return app
}

/**
 * Serves the metrics on their port, if one is configured, until the process ends. Rejects with a
 * one-line message if it cannot listen.
 */
export async function listenForMetrics(
  { metricsPort: address }: Config,
  metrics: HttpApp['metrics'],
): Promise<void> {
  if (address === undefined || metrics === undefined) return
  const { serveMetrics } = await import('@pubring/server/kernel/http/metrics')
  const listening = serveMetrics(address, () => metrics.metrics())
  const server = await listening.catch(explainFor(address, metricsSettings))
  // It must not keep a process alive that has nothing else to do.
  server.unref()
}

/** The settings of an address to listen on. */
interface AddressSettings {
  host: string
  port: string
}

const apiSettings: AddressSettings = { host: 'PUBRING_HOST', port: 'PUBRING_PORT' }
export const metricsSettings: AddressSettings = {
  host: 'PUBRING_METRICS_PORT',
  port: 'PUBRING_METRICS_PORT',
}

/** Rejects with a one-line message, which names the settings, if the address cannot be listened on. */
export async function requireFreePort(
  { host, port }: Pick<Config, 'host' | 'port'>,
  named = apiSettings,
): Promise<void> {
  const server = createServer().listen({ host, port })
  await once(server, 'listening').catch(explainFor({ host, port }, named))
  server.close()
  await once(server, 'close')
}

/** Listens on the configured address. Rejects with a one-line message if it cannot. */
export async function listen(app: HttpApp, { host, port }: Config): Promise<void> {
  await listenOn(app, { host, port }).catch(explainFor({ host, port }, apiSettings))
}

/** Throws one line for a person if the address cannot be listened on. */
function explainFor({ host, port }: { host: string; port: number }, named: AddressSettings) {
  return (error: unknown): never => {
    switch (error instanceof Error && 'code' in error && error.code) {
      case 'EADDRINUSE':
        throw new Error(
          `Port ${port} on ${host} is in use: stop the process that listens there, or set ${named.port}.`,
        )
      case 'EACCES':
        throw new Error(
          `This user cannot listen on port ${port}: set ${named.port} to 1024 or higher.`,
        )
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new Error(`${named.host}: ${host} is not an address of this machine.`)
      default:
        throw error
    }
  }
}

/**
 * Descriptors reserved for files, threads and pipes (a process has some fifty): without a free one it
 * can neither open its database nor accept a connection.
 */
const reserved = 100

/**
 * Concurrent connections that the process accepts; it closes further ones immediately. Undefined if
 * the system does not limit open files.
 */
export function maxConnections(): number | undefined {
  const limit = openFilesLimit()
  return limit && Math.max(Math.floor(limit / 4), limit - reserved)
}

/** The soft limit of open files; Node raises it to the hard limit at startup. */
function openFilesLimit(): number | undefined {
  // The names of the network's addresses take most of its time. The types of Node lack the option.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits }: { userLimits?: { open_files?: { soft?: unknown } } } =
    process.report.getReport()
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : undefined
}
