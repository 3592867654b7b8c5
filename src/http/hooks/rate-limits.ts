import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { HttpOptions } from '../options.ts'
import { clientAddress } from '../request/client-address.ts'
import { createLimit, type Spend } from './budgets.ts'

/** Limits requests and changes so that no caller uses up the budget of another. */
export function addRateLimits(app: FastifyInstance, options: HttpOptions): void {
  limitApiKeys(app, options)
  limitPublicRequests(app, options)
  limitChanges(app, options)
}

/**
 * Limits failed authentications per client address; undefined if they are not limited. To be spent
 * from after a failure, so that it never keeps out a valid API key.
 */
export function createFailureLimit(
  app: FastifyInstance,
  { authFailureLimit: rate }: HttpOptions,
): Spend | undefined {
  const reason =
    'The API key in the X-Api-Key header is unknown, expired or revoked, like those of many requests from your address before. A valid one would be accepted.'
  return rate && createLimit(app, { name: 'failures', rate, callerOf: clientAddress, reason })
}

const apiKeyOf = ({ principal }: FastifyRequest) => principal?.apiKeyId ?? ''

const tooManyRequests = 'The rate limit is exceeded.'

function limitApiKeys(app: FastifyInstance, { rateLimit: rate }: HttpOptions): void {
  if (rate === undefined) return
  const limit = { name: 'api-key', rate, callerOf: apiKeyOf, reason: tooManyRequests }
  const spend = createLimit(app, limit)
  app.addHook('onRequest', async (request, reply) => {
    const { cost } = request.routeOptions.config
    if (request.principal !== undefined) await spend(request, reply, cost)
  })
}

function limitPublicRequests(app: FastifyInstance, { publicRateLimit: rate }: HttpOptions): void {
  if (rate === undefined) return
  const limit = { name: 'public', rate, callerOf: clientAddress, reason: tooManyRequests }
  const spend = createLimit(app, limit)
  // After the hooks of the route, so that a 429 has the CORS headers of the route.
  app.addHook('preParsing', async (request, reply) => {
    const { access, unlimited } = request.routeOptions.config
    if (access === undefined && !unlimited) await spend(request, reply)
  })
}

/** Runs after validation, since the number of changes depends on the body. */
function limitChanges(app: FastifyInstance, { writeLimit: rate }: HttpOptions): void {
  if (rate === undefined) return
  const reason = 'Your API key has made too many changes.'
  const spend = createLimit(app, { name: 'changes', rate, callerOf: apiKeyOf, reason })
  app.addHook('preHandler', async (request, reply) => {
    const { access, changes } = request.routeOptions.config
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead || access === undefined || access.role === 'reader') return
    await spend(request, reply, changes?.(request))
  })
}
