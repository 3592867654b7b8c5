import process from 'node:process'
import type { Config } from '../../config/server-settings.ts'
import { prepareRegistry } from '../../core/first-start.ts'
import type { HttpApp } from '../../http/app.ts'
import { limitHeapGrowth } from '../../runtime/heap-growth.ts'
import { collectStartupGarbage } from '../../runtime/startup-garbage.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { createApp, listen, listenForMetrics, openRegistry } from './instance.ts'
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
  const startReloads = prepareReloads(config, load)
  startReloads(await startServer(config))
}

async function startServer(config: Config): Promise<Server> {
  const server = await listenFirst(config)
  const { app, registry } = server
  onShutdownSignal(
    (signal) => void shutDown(app, config.shutdownGrace, signal),
    () => process.exit(exitCodes.error.code),
  )
  await closeIfFailed(app, registry.prepared)
  // Only now, because the API key is shown only once: a taken port has been reported before.
  const preparing = prepareRegistry(registry.context, config.adminApiKey)
  const { newSecret } = await closeIfFailed(app, preparing)
  app.readiness.starting = false
  announceReady(config, newSecret)
  return server
}

/**
 * Opens the registry and listens. Until it is prepared, the process is not ready, and all requests
 * that need the database get 503. Closes everything if a step fails.
 */
async function listenFirst(config: Config): Promise<Server> {
  const opening = openRegistry(config)
  // The store opens on its own thread in the meantime.
  const [registry] = await Promise.all([opening, import('../../http/app.ts')])
  let app: HttpApp | undefined
  try {
    app = await createApp(registry, config)
    app.readiness.starting = true
    await listenForMetrics(config, app.metrics)
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
