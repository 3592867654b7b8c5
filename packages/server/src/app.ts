import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { accessRuleRoutes } from './features/access-rules/http.ts'
import { createIssuerKeys } from './features/access-rules/issuer-keys.ts'
import { apiKeyRoutes } from './features/api-keys/http.ts'
import { historyRoute } from './features/events/http/history.ts'
import { eventRoutes } from './features/events/http/routes.ts'
import { healthRoutes } from './features/health/http.ts'
import { keyImportRoutes } from './features/imports/http.ts'
import { keyRoutes } from './features/keys/http.ts'
import { logRoutes } from './features/log/http.ts'
import { projectRoutes } from './features/projects/http.ts'
import { publishedRoutes } from './features/publishing/http.ts'
import { createLiveServices, type LiveServices } from './features/publishing/live.ts'
import { rotationRoutes } from './features/rotations/http.ts'
import { searchRoute } from './features/search/http.ts'
import { signInRoutes } from './features/sign-in/http/browser.ts'
import { commandLineRoutes } from './features/sign-in/http/command-line.ts'
import { logoutRoute } from './features/sign-in/http/logout.ts'
import { personRoutes } from './features/sign-in/http/people.ts'
import { sessionRoutes } from './features/sign-in/http/sessions.ts'
import { createSignIn } from './features/sign-in/sign-in.ts'
import { checkRoutes } from './features/token-checks/http.ts'
import { tokenExchangeRoute } from './features/token-exchange/http.ts'
import { warningRoutes } from './features/warnings/http.ts'
import type { Context } from './kernel/context.ts'
import { addBodies, addMediaTypes } from './kernel/http/body/bodies.ts'
import { addValidation } from './kernel/http/body/validation.ts'
import { addCaching } from './kernel/http/caching/etags.ts'
import { addResponseCache } from './kernel/http/caching/response-cache.ts'
import { addErrors } from './kernel/http/errors/handler.ts'
import { addAccess, addAuthentication } from './kernel/http/hooks/access.ts'
import { createCountedLog } from './kernel/http/hooks/counted-log.ts'
import { addRequestLog } from './kernel/http/hooks/logging.ts'
import { addMethods } from './kernel/http/hooks/methods.ts'
import { addOverload } from './kernel/http/hooks/overload.ts'
import { addRateLimits, createFailureLimit } from './kernel/http/hooks/rate-limits.ts'
import { addRequestRecords } from './kernel/http/hooks/request-records.ts'
import { addPageHeaders } from './kernel/http/hooks/security-headers.ts'
import { addDatabaseLog, addLogState } from './kernel/http/hooks/state-log.ts'
import type { HttpOptions } from './kernel/http/options.ts'
import { addQueryDefault } from './kernel/http/request/query.ts'
import { addConsole } from './kernel/http/routes/console.ts'
import { addDocs, descriptionRoute } from './kernel/http/routes/docs.ts'
import { createServer } from './server.ts'

export type HttpApp = FastifyInstance

/** Loads the library for metrics, which other servers do without. */
async function collectMetrics(app: FastifyInstance, live: LiveServices): Promise<Registry> {
  const { createMetrics } = await import('./kernel/http/metrics.ts')
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
