import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { features } from './features.ts'
import { createReadCaller } from './kernel/access/callers.ts'
import type { Context } from './kernel/context.ts'
import { createHooks } from './kernel/hooks.ts'
import { addBodies, addMediaTypes } from './kernel/http/body/bodies.ts'
import { addValidation } from './kernel/http/body/validation.ts'
import { addCaching, addResponseCache } from './kernel/http/caching.ts'
import { addErrors } from './kernel/http/errors.ts'
import { addAccess, addAuthentication } from './kernel/http/hooks/access.ts'
import { addCommonHeaders, addPageHeaders } from './kernel/http/hooks/headers.ts'
import {
  addContradictionLog,
  addDatabaseLog,
  addRequestLog,
  addRequestRecords,
  createCountedLog,
} from './kernel/http/hooks/logging.ts'
import { addMethods } from './kernel/http/hooks/methods.ts'
import { addOverload } from './kernel/http/hooks/overload.ts'
import { addRateLimits } from './kernel/http/hooks/rate-limits.ts'
import type { HttpOptions } from './kernel/http/options.ts'
import { addQueryDefault } from './kernel/http/request/parameters.ts'
import { addConsole } from './kernel/http/routes/console.ts'
import { addDocs, descriptionRoute } from './kernel/http/routes/docs.ts'
import { createKernel, type Kernel } from './kernel/kernel.ts'
import { createServer } from './server.ts'

export type HttpApp = FastifyInstance

/** The HTTP sides of the features, loaded with this module. */
const sides = await Promise.all(features.flatMap(({ http }) => http?.() ?? []))

/**
 * Builds the application, not yet listening. Its `close()` waits for the accepted requests.
 * `beforeRoutes` may add hooks that see the routes.
 */
export async function buildApp(
  context: Context,
  options: HttpOptions,
  beforeRoutes: (app: FastifyInstance) => Promise<void> = async () => {},
): Promise<HttpApp> {
  const app = createServer(options)
  const hooks = createHooks(sides.flatMap((side) => side.hooks ?? []))
  const kernel = createKernel(context, createReadCaller(features), hooks)
  app.decorate('kernel', kernel)
  app.addHook('preClose', async () => kernel.close())
  await addHooks(app, kernel, options)
  await beforeRoutes(app)
  const routes = app.withTypeProvider<TypeBoxTypeProvider>()
  for (const side of sides) await side.routes(routes, kernel)
  app.decorate('metrics', options.metrics ? await collectMetrics(app, kernel) : undefined)
  descriptionRoute(app, options)
  await app.register(async (pages) => {
    await addPageHeaders(pages, options.publicUrl)
    addDocs(pages)
    await addConsole(pages)
  })
  return app
}

/** Adds all hooks, in the order in which they run. */
async function addHooks(app: FastifyInstance, kernel: Kernel, options: HttpOptions): Promise<void> {
  const { clock } = kernel
  addCommonHeaders(app, clock)
  addRequestRecords(app)
  addRequestLog(app)
  app.decorate('countedLog', createCountedLog(app))
  addContradictionLog(app, kernel)
  addDatabaseLog(app, kernel)
  addErrors(app, options)
  addResponseCache(app, clock)
  addMethods(app)
  await addOverload(app, options.overloadLagMs)
  addAuthentication(app, kernel, options)
  addRateLimits(app, kernel, options)
  addAccess(app, kernel)
  addMediaTypes(app)
  addBodies(app)
  addQueryDefault(app)
  addValidation(app)
  addCaching(app)
}

/** Loads the library for metrics, which other servers do without. */
async function collectMetrics(app: FastifyInstance, kernel: Kernel): Promise<Registry> {
  const { createMetrics } = await import('./kernel/http/metrics.ts')
  return createMetrics(app, kernel, sides)
}
