import { availableParallelism } from 'node:os'
import process from 'node:process'
import type { Config } from '../../config/server-settings.ts'
import type { Context } from '../../core/context.ts'
import type { HttpApp } from '../../http/app.ts'
import { serveMetrics } from '../../http/metrics/server.ts'
import { createIntakePool } from '../../intake/threads/pool.ts'
import { openStore } from '../../storage/open.ts'
import { readBlocklist } from './blocklist.ts'
import { mostConnections } from './descriptors.ts'

/** The registry of one process, and how to let go of it. */
export interface Registry {
  context: Context
  close(): Promise<void>
}

/**
 * Opens the configured store and what examines keys; no thread examines before the first key. `open`
 * says whether a store that is not there is made.
 */
export async function openRegistry(
  config: Config,
  open: typeof openStore = openStore,
): Promise<Registry> {
  const intake = createIntakePool({ ...intakeBounds(config), ...readBlocklist(config) })
  const store = await open(config.databaseUrl, { replicaUrl: config.databaseReplicaUrl })
  const context: Context = {
    store,
    clock: { now: Date.now, monotonic: () => performance.now() },
    config,
    examine: (text, algorithm) => intake.examine(text, algorithm),
    bulk: intake.bulk,
  }
  return {
    context,
    async close() {
      await intake.close()
      await store.close()
    },
  }
}

/** Loads what serves: not at once, since the parent of workers never does. */
export const loadApp = () => import('../../http/app.ts')

/** The HTTP side of the registry, not yet listening; when it closes, the registry does. */
export async function createApp(registry: Registry, config: Config): Promise<HttpApp> {
  const { buildApp } = await loadApp()
  const app = await buildApp(registry.context, {
    publicUrl: config.publicUrl,
    trustProxy: config.trustProxy,
    bodyLimit: config.maxBodyBytes,
    importBodyLimit: config.maxImportBytes,
    maxPageSize: config.maxPageSize,
    rateLimit: config.rateLimit,
    publicRateLimit: config.publicRateLimit,
    overloadLag: config.overloadLag,
    metrics: config.metricsPort !== undefined,
    logLevel: config.logLevel,
    logPretty: process.stdout.isTTY === true,
  })
  const most = mostConnections()
  if (most !== undefined) app.server.maxConnections = most
  app.addHook('onClose', () => registry.close())
  return app
}

/**
 * Serves the metrics where a port is set for them, as long as the process lives. Rejects with one
 * line for a person where it cannot listen.
 */
export async function listenForMetrics(
  { metricsHost: host, metricsPort: port }: Config,
  metrics: () => Promise<string>,
): Promise<void> {
  if (port === undefined) return
  try {
    const server = await serveMetrics({ host, port }, metrics)
    // What it answers is worth nothing to a process that ends.
    server.unref()
  } catch (error) {
    throw listenError(error, { host, port, prefix: 'PUBRING_METRICS' })
  }
}

/** Listens where the configuration says. Rejects with one line for a person where it cannot. */
export async function listen(app: HttpApp, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw listenError(error, { host, port, prefix: 'PUBRING' })
  }
}

/** The processors are shared by all workers, each of which examines keys in threads of its own. */
function intakeBounds({ intakeThreads, intakeQueue, maxPemLength, workers }: Config) {
  const share = Math.max(1, Math.floor((availableParallelism() - 1) / workers))
  return { maxQueue: intakeQueue, maxLength: maxPemLength, threads: intakeThreads ?? share }
}

interface Listening {
  host: string
  port: number
  /** Of the settings that say where. */
  prefix: string
}

function listenError(error: unknown, { host, port, prefix }: Listening): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new Error(
      `Port ${port} of ${host} is taken: end what listens there, or set ${prefix}_PORT.`,
    )
  }
  if (code === 'EACCES') {
    return new Error(
      `This user may not listen on port ${port}: set ${prefix}_PORT to 1024 or more.`,
    )
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Error(`${prefix}_HOST ${host} is no address of this machine.`)
  }
  return error
}
