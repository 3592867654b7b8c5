import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Context } from '../core/context.ts'
import { createLiveServices, type LiveServices } from '../core/publishing/live.ts'
import { createSignIn } from '../core/sign-in/sign-in.ts'
import { createIssuerKeys } from '../core/token-exchange/issuer-keys.ts'
import { addBodies, addMediaTypes } from './body/bodies.ts'
import { addValidation } from './body/validation.ts'
import { addCaching } from './caching/etags.ts'
import { addResponseCache } from './caching/response-cache.ts'
import { addErrors } from './errors/handler.ts'
import { addAccess, addAuthentication } from './hooks/access.ts'
import { createCountedLog } from './hooks/counted-log.ts'
import { addRequestLog } from './hooks/logging.ts'
import { addMethods } from './hooks/methods.ts'
import { addOverload } from './hooks/overload.ts'
import { addRateLimits, createFailureLimit } from './hooks/rate-limits.ts'
import { addRequestRecords } from './hooks/request-records.ts'
import { addPageHeaders } from './hooks/security-headers.ts'
import { addDatabaseLog, addLogState } from './hooks/state-log.ts'
import type { HttpOptions } from './options.ts'
import { addQueryDefault } from './request/query.ts'
import { accessRuleRoutes } from './routes/access-rules.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { checkRoutes } from './routes/checks.ts'
import { addConsole } from './routes/console.ts'
import { addDocs, descriptionRoute } from './routes/docs.ts'
import { eventRoutes } from './routes/events/routes.ts'
import { historyRoute } from './routes/finding/history.ts'
import { searchRoute } from './routes/finding/search.ts'
import { warningRoutes } from './routes/finding/warnings.ts'
import { healthRoutes } from './routes/health.ts'
import { keyImportRoutes } from './routes/key-imports.ts'
import { keyRoutes } from './routes/keys.ts'
import { logRoutes } from './routes/log.ts'
import { projectRoutes } from './routes/projects.ts'
import { publishedRoutes } from './routes/published.ts'
import { rotationRoutes } from './routes/rotations/rotations.ts'
import { signInRoutes } from './routes/sign-in/browser.ts'
import { commandLineRoutes } from './routes/sign-in/command-line.ts'
import { logoutRoute } from './routes/sign-in/logout.ts'
import { personRoutes } from './routes/sign-in/people.ts'
import { sessionRoutes } from './routes/sign-in/sessions.ts'
import { tokenExchangeRoute } from './routes/token-exchange.ts'
import { createServer } from './server.ts'

export type HttpApp = FastifyInstance

/** Loads the library for metrics, which other servers do without. */
async function collectMetrics(app: FastifyInstance, live: LiveServices): Promise<Registry> {
  const { createMetrics } = await import('./metrics.ts')
  return createMetrics(app, live)
}

/**
 * Builds the application, not yet listening. Its `close()` waits for the accepted requests. Long
 * because it lists all hooks, in the order in which they run, and all routes. `beforeRoutes` may add
 * hooks that see the routes.
 */
export async function buildApp(
  coreContext: Context,
  options: HttpOptions,
  beforeRoutes: (app: FastifyInstance) => Promise<void> = async () => {},
): Promise<HttpApp> {
  const app = createServer(options)
  const { heldRequests, eventStreams } = options
  const live = createLiveServices(coreContext, { heldRequests, eventStreams })
  const { context } = live
  context.store.contradictions.onRead(({ ledgerId, subject }) => {
    const message = 'the database contradicts its ledger, and what it contradicts is not served'
    const cause = `${subject}, ledger ${ledgerId}`
    app.countedLog.write({ level: 'error', code: 'contradicted', message, cause })
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    // No response is what its type does not say: data is never run as a script or shown as a page.
    reply.header('x-content-type-options', 'nosniff')
    done()
  })
  app.addHook('preClose', async () => live.close())
  addRequestRecords(app)
  addRequestLog(app)
  app.decorate('countedLog', createCountedLog(app))
  addDatabaseLog(app, live)
  addLogState(app, live.log)
  app.decorate('metrics', options.metrics ? await collectMetrics(app, live) : undefined)
  addErrors(app, options)
  addResponseCache(app, context.clock)
  addMethods(app)
  await addOverload(app, options.overloadLagMs)
  const failures = createFailureLimit(context.clock, options)
  addAuthentication(app, context, failures)
  addRateLimits(app, context.clock, options)
  addAccess(app, context)
  addMediaTypes(app)
  addBodies(app)
  addQueryDefault(app)
  addValidation(app)
  addCaching(app)
  await beforeRoutes(app)

  const routes = app.withTypeProvider<TypeBoxTypeProvider>()
  projectRoutes(routes, context)
  keyRoutes(routes, context)
  keyImportRoutes(routes, context)
  rotationRoutes(routes, context)
  apiKeyRoutes(routes, context)
  app.decorate('signIn', await createSignIn(context))
  sessionRoutes(routes, context)
  signInRoutes(routes, context, failures)
  commandLineRoutes(routes, context, failures)
  logoutRoute(routes)
  personRoutes(routes, context)
  checkRoutes(routes, context)
  const issuerKeys = createIssuerKeys(context)
  accessRuleRoutes(routes, context, issuerKeys)
  tokenExchangeRoute(routes, context, issuerKeys, options)
  publishedRoutes(routes, live)
  eventRoutes(routes, live)
  searchRoute(routes, context)
  historyRoute(routes, context)
  warningRoutes(routes, live)
  logRoutes(routes, live)
  healthRoutes(routes, live)
  descriptionRoute(app, options)
  await app.register(async (pages) => {
    await addPageHeaders(pages, options.publicUrl)
    addDocs(pages)
    await addConsole(pages)
  })
  return app
}
