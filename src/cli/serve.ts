import cluster from 'node:cluster'
import process from 'node:process'
import type { Config } from '../config.ts'
import { prepareRegistry } from '../core/first-start.ts'
import type { HttpApp } from '../http/app.ts'
import { openExistingStore } from '../storage/open.ts'
import { createApp, listen, listenForMetrics, openRegistry } from './instance.ts'
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
  const registry = await openRegistry(config)
  const { newSecret } = await prepareRegistry(registry.context, config.adminApiKey)
  const app = await createApp(registry, config)
  try {
    await listenForMetrics(config, () => app.metrics.metrics())
    await listen(app, config)
  } catch (error) {
    announceLoss(newSecret)
    throw error
  }
  whenTold(endOf(app, config), () => process.exit(1))
  announce(config.publicUrl, newSecret)
}

/** One of several: the parent has prepared the registry and says when to end. */
async function serveAsWorker(config: Config): Promise<void> {
  const app = await createApp(await openRegistry(config, openExistingStore), config)
  tellMetrics(() => app.metrics.getMetricsAsJSON())
  await listen(app, config)
  // Told twice is told once: by the parent, and as a member of its process group.
  whenTold(endOf(app, config), () => {})
}

function endOf(app: HttpApp, { shutdownGrace }: Config) {
  return (by: string) => void shutDown(app, shutdownGrace, by)
}
