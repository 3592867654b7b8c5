import cluster from 'node:cluster'
import process from 'node:process'
import type { Config } from '../../config/server-settings.ts'
import { prepareRegistry } from '../../core/first-start.ts'
import type { HttpApp } from '../../http/app.ts'
import { collectStartupGarbage } from '../../runtime/startup-garbage.ts'
import { openExistingStore, openStore } from '../../storage/open.ts'
import {
  createApp,
  listen,
  listenForMetrics,
  loadApp,
  openRegistry,
  type Registry,
} from './instance.ts'
import { prepareReloads, type Server } from './reload.ts'
import { ignoreOtherSignals, onShutdownSignal, shutDown } from './shutdown.ts'
import { announceReady, announceSecret } from './welcome.ts'
import { sendMetricsToParent } from './worker-metrics.ts'
import { runWorkers } from './workers.ts'

/**
 * Runs the server until a signal ends it. `load` reads the settings, again at each SIGHUP. Rejects
 * with a one-line message if it cannot start: it never serves another store than the configured one.
 */
export async function serve(load: () => Config): Promise<void> {
  const config = load()
  ignoreOtherSignals()
  if (config.workers > 1 && cluster.isPrimary) return runWorkers(config)
  const startReloads = prepareReloads(config, load)
  startReloads(await (cluster.isWorker ? serveAsWorker(config) : serveAlone(config)))
}

async function serveAlone(config: Config): Promise<Server> {
  let newSecret: string | undefined
  try {
    const server = await start(config, openStore, async ({ context }) => {
      newSecret = (await prepareRegistry(context, config.adminApiKey)).newSecret
    })
    onShutdownSignal(shutDownOf(server.app, config), () => process.exit(1))
    announceReady(config.publicUrl, newSecret)
    return server
  } catch (error) {
    announceSecret(newSecret)
    throw error
  }
}

/** One of several: the parent has prepared the registry. */
async function serveAsWorker(config: Config): Promise<Server> {
  const server = await start(config, openExistingStore, async () => {})
  // The signal can arrive twice (parent and process group); handle it once.
  onShutdownSignal(shutDownOf(server.app, config), () => {})
  return server
}

/** Opens the registry, prepares it and listens. Closes everything if a step fails. */
async function start(
  config: Config,
  open: typeof openStore,
  prepare: (registry: Registry) => Promise<void>,
): Promise<Server> {
  const opening = openRegistry(config, open)
  // The store opens on its own thread in the meantime.
  const [registry] = await Promise.all([opening, loadApp()])
  let app: HttpApp | undefined
  try {
    await prepare(registry)
    app = await createApp(registry, config)
    await publishMetrics(app, config)
    // Before the first request, which would wait for it.
    await collectStartupGarbage()
    await listen(app, config)
    return { app, registry }
  } catch (error) {
    // A thread or connection left open would keep the process alive.
    await (app ?? registry).close()
    throw error
  }
}

/** On a port of their own; a worker sends them to its parent, which adds them up. */
async function publishMetrics({ metrics }: HttpApp, config: Config): Promise<void> {
  if (cluster.isWorker) sendMetricsToParent(() => metrics.getMetricsAsJSON())
  else await listenForMetrics(config, () => metrics.metrics())
}

function shutDownOf(app: HttpApp, { shutdownGrace }: Config) {
  return (source: string) => void shutDown(app, shutdownGrace, source)
}
