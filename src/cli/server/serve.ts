import cluster from 'node:cluster'
import process from 'node:process'
import type { Config } from '../../config/server-settings.ts'
import { prepareRegistry } from '../../core/first-start.ts'
import type { HttpApp } from '../../http/app.ts'
import { limitHeapGrowth } from '../../runtime/heap-growth.ts'
import { collectStartupGarbage } from '../../runtime/startup-garbage.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { createApp, listen, listenForMetrics, loadApp, openRegistry } from './instance.ts'
import { prepareReloads, type Server } from './reload.ts'
import { ignoreOtherSignals, onShutdownSignal, shutDown } from './shutdown.ts'
import { announceReady } from './welcome.ts'

/**
 * Runs the server until a signal ends it. `load` reads the settings, again at each SIGHUP. Rejects
 * with a one-line message if it cannot start: it never serves another store than the configured one.
 */
export async function serve(load: () => Config): Promise<void> {
  const config = load()
  ignoreOtherSignals()
  limitHeapGrowth()
  if (config.workers > 1 && cluster.isPrimary) {
    const { runWorkers } = await import('./workers.ts')
    return runWorkers(config)
  }
  const startReloads = prepareReloads(config, load)
  startReloads(await (cluster.isWorker ? serveAsWorker(config) : serveAlone(config)))
}

async function serveAlone(config: Config): Promise<Server> {
  const server = await listenFirst(config, { mustExist: false })
  const { app, registry } = server
  onShutdownSignal(shutDownOf(app, config), () => process.exit(exitCodes.error.code))
  await closeIfFailed(app, registry.prepared)
  // Only now, because the API key is shown only once: a taken port has been reported before.
  const preparing = prepareRegistry(registry.context, config.adminApiKey)
  const { newSecret } = await closeIfFailed(app, preparing)
  app.readiness.starting = false
  announceReady(config, newSecret)
  return server
}

/** One of several: the parent has prepared the registry. */
async function serveAsWorker(config: Config): Promise<Server> {
  const server = await listenFirst(config, { mustExist: true })
  const { app, registry } = server
  // The signal can arrive twice (parent and process group); handle it once.
  onShutdownSignal(shutDownOf(app, config), () => {})
  await closeIfFailed(app, registry.prepared)
  app.readiness.starting = false
  return server
}

/**
 * Opens the registry and listens. Until it is prepared, the process is not ready, and all requests
 * that need the database get 503. Closes everything if a step fails.
 */
async function listenFirst(config: Config, options: { mustExist: boolean }): Promise<Server> {
  const opening = openRegistry(config, options)
  // The store opens on its own thread in the meantime.
  const [registry] = await Promise.all([opening, loadApp()])
  let app: HttpApp | undefined
  try {
    app = await createApp(registry, config)
    app.readiness.starting = true
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

async function closeIfFailed<Result>(app: HttpApp, step: Promise<Result>): Promise<Result> {
  try {
    return await step
  } catch (error) {
    await app.close()
    throw error
  }
}

/** On a port of their own; a worker sends them to its parent, which adds them up. */
async function publishMetrics({ metrics }: HttpApp, config: Config): Promise<void> {
  if (metrics === undefined) return
  if (cluster.isWorker) {
    const { sendMetricsToParent } = await import('./worker-metrics.ts')
    sendMetricsToParent(() => metrics.getMetricsAsJSON())
  } else await listenForMetrics(config, () => metrics.metrics())
}

function shutDownOf(app: HttpApp, { shutdownGrace }: Config) {
  return (source: string) => void shutDown(app, shutdownGrace, source)
}
