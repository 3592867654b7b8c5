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
import { shutDown, whenTold } from './shutdown.ts'
import { announce, announceLoss } from './welcome.ts'
import { tellMetrics } from './worker-metrics.ts'
import { superviseWorkers } from './workers.ts'

/**
 * Runs the server until a signal ends it. Rejects with one line for a person where it cannot
 * start: nothing is served from a store that is not the configured one.
 */
export async function serve(config: Config): Promise<void> {
  if (config.workers === 1) return serveAlone(config)
  if (cluster.isPrimary) return superviseWorkers(config)
  return serveAsWorker(config)
}

async function serveAlone(config: Config): Promise<void> {
  let newSecret: string | undefined
  try {
    const app = await starting(config, openStore, async (registry) => {
      newSecret = (await prepareRegistry(registry.context, config.adminApiKey)).newSecret
    })
    whenTold(endOf(app, config), () => process.exit(1))
  } catch (error) {
    announceLoss(newSecret)
    throw error
  }
  announce(config.publicUrl, newSecret)
}

/** One of several: the parent has prepared the registry and says when to end. */
async function serveAsWorker(config: Config): Promise<void> {
  const app = await starting(config, openExistingStore, async () => {})
  // Told twice is told once: by the parent, and as a member of its process group.
  whenTold(endOf(app, config), () => {})
}

/**
 * Opens the registry, prepares it and listens. Lets go of all of it where a step fails, since a
 * thread or a connection that is left would keep the process that serves nothing alive.
 */
async function starting(
  config: Config,
  open: typeof openStore,
  prepare: (registry: Registry) => Promise<void>,
): Promise<HttpApp> {
  const opening = openRegistry(config, open)
  // Beside the thread that writes, which starts meanwhile.
  const [registry] = await Promise.all([opening, loadApp()])
  let app: HttpApp | undefined
  try {
    await prepare(registry)
    app = await createApp(registry, config)
    await publishMetrics(app, config)
    // While nobody waits for an answer.
    await collectStartupGarbage()
    await listen(app, config)
    return app
  } catch (error) {
    await (app ?? registry).close()
    throw error
  }
}

/** On a port of its own; those of a worker go to its parent, which adds them up. */
async function publishMetrics(app: HttpApp, config: Config): Promise<void> {
  if (cluster.isWorker) tellMetrics(() => app.metrics.getMetricsAsJSON())
  else await listenForMetrics(config, () => app.metrics.metrics())
}

function endOf(app: HttpApp, { shutdownGrace }: Config) {
  return (by: string) => void shutDown(app, shutdownGrace, by)
}
