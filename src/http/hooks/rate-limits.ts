import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/context.ts'
import type { HttpOptions } from '../options.ts'
import { clientAddress } from '../request/client-address.ts'
import { createLimit, type Spend } from './budgets.ts'

const callerOf = ({ principal }: FastifyRequest) => principal?.callerId ?? ''

/** Limits requests and changes so that no caller uses up the budget of another. */
export function addRateLimits(app: FastifyInstance, clock: Clock, options: HttpOptions): void {
  const { rateLimit, publicRateLimit, writeLimit } = options
  const reason = 'The rate limit is exceeded.'
  if (rateLimit !== undefined) {
    const spend = createLimit(clock, { name: 'api-key', rate: rateLimit, callerOf, reason })
    app.addHook('onRequest', async (request, reply) => {
      const { cost } = request.routeOptions.config
      if (request.principal !== undefined) spend(request, reply, cost)
    })
  }
  if (publicRateLimit !== undefined) {
    const limit = { name: 'public', rate: publicRateLimit, callerOf: clientAddress, reason }
    const spend = createLimit(clock, limit)
    // After the hooks of the route, so that a 429 has the CORS headers of the route.
    app.addHook('preParsing', async (request, reply) => {
      const { access, unlimited } = request.routeOptions.config
      if (access === undefined && !unlimited) spend(request, reply)
    })
  }
  if (writeLimit !== undefined) {
    const tooMany = 'Your API key has made too many changes.'
    const limit = { name: 'changes', rate: writeLimit, callerOf, reason: tooMany }
    const spend = createLimit(clock, limit)
    // After validation, since the number of changes depends on the body.
    app.addHook('preHandler', async (request, reply) => {
      const { access, changes } = request.routeOptions.config
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (isRead || access === undefined || access.role === 'reader') return
      spend(request, reply, changes?.(request))
    })
  }
}

/**
 * Limits failed authentications per client address; undefined if they are not limited. To be spent
 * from after a failure, so that it never keeps out a valid API key.
 */
export function createFailureLimit(
  clock: Clock,
  { authFailureLimit: rate }: HttpOptions,
): Spend | undefined {
  const reason =
    'The API key in the X-Api-Key header is unknown, expired or revoked, like those of many requests from your address before. A valid one would be accepted.'
  return rate && createLimit(clock, { name: 'failures', rate, callerOf: clientAddress, reason })
}
