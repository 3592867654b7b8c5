import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../core/context.ts'
import { createRequestIds } from '../core/ids.ts'
import { createLive } from '../core/publishing/live.ts'
import { addAccess, addAuthentication } from './access.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { addCaching } from './caching.ts'
import { addConsole } from './console.ts'
import { addDocs } from './docs.ts'
import { addErrors } from './error-handler.ts'
import { eventRoutes } from './events.ts'
import { healthRoutes } from './health.ts'
import { addHostCheck } from './host.ts'
import { addJsonBodies } from './json-body.ts'
import { keyCheckRoutes } from './key-checks.ts'
import { keyImportRoutes } from './key-imports.ts'
import { keyRoutes } from './keys.ts'
import { addRequestLog } from './logging.ts'
import { addMediaTypes } from './media-type.ts'
import { addMethods } from './methods.ts'
import { addMetrics } from './metrics.ts'
import { addOpenApi } from './openapi.ts'
import type { HttpOptions } from './options.ts'
import { addOutcomes } from './outcomes.ts'
import { addOverload } from './overload.ts'
import { projectRoutes } from './projects.ts'
import { publishedRoutes } from './published.ts'
import { addQueryDefault } from './query.ts'
import { addRateLimits } from './rate-limits.ts'
import { addSecurityHeaders } from './security-headers.ts'
import { createServer } from './server.ts'
import { addShutdown } from './shutdown.ts'
import { addStoredAnswers } from './stored-answers.ts'
import { tokenCheckRoutes } from './token-checks.ts'
import { addValidation } from './validation.ts'

/** The application, for those who start and stop it. */
export type HttpApp = FastifyInstance

/** The HTTP side of Pubring, not yet listening. `close()` answers what was accepted, then ends. */
export async function buildApp(given: Context, options: HttpOptions): Promise<HttpApp> {
  const newRequestId = createRequestIds()
  const app = createServer(options, newRequestId)
  const live = createLive(given)
  const { context } = live
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  addShutdown(app)
  app.addHook('preClose', async () => live.close())
  addOutcomes(app)
  addRequestLog(app, options)
  addMetrics(app, live, options)
  addErrors(app, options)
  addStoredAnswers(app, newRequestId)
  await addSecurityHeaders(app, options.publicUrl)
  addMethods(app)
  addHostCheck(app)
  await addOverload(app, options.overloadLag ?? 0)
  addAuthentication(app, context)
  await addRateLimits(app, options)
  addAccess(app, context)
  addMediaTypes(app)
  addJsonBodies(app)
  addQueryDefault(app)
  addValidation(app)
  addCaching(app)
  await addOpenApi(app, options.publicUrl)

  const routes = app.withTypeProvider<TypeBoxTypeProvider>()
  projectRoutes(routes, context, options)
  keyRoutes(routes, context, options)
  keyImportRoutes(routes, context, options)
  apiKeyRoutes(routes, context, options)
  keyCheckRoutes(routes, context)
  tokenCheckRoutes(routes, context)
  publishedRoutes(routes, live)
  eventRoutes(routes, live, options)
  healthRoutes(routes, context)
  addDocs(app)
  await addConsole(app)
  return app
}
