import { isIP } from 'node:net'
import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/context.ts'
import { PubringError } from '../../errors.ts'
import type { HttpOptions, Rate } from '../options.ts'
import { budgetStore } from './budget-store.ts'

/**
 * Limits requests per API key, and public requests per client address, so that no caller uses up
 * the budget of another. A request with an invalid API key uses up no budget; it costs a digest
 * and one query.
 */
export async function addRateLimits(
  app: FastifyInstance,
  options: HttpOptions,
  clock: Clock,
): Promise<void> {
  await app.register(rateLimit, { global: false, store: budgetStore(clock) })
  if (options.rateLimit !== undefined) {
    const spend = createBudgets(
      app,
      'api-key',
      options.rateLimit,
      (request) => request.principal?.apiKeyId ?? '',
    )
    app.addHook('onRequest', async (request, reply) => {
      if (request.principal !== undefined) await spend(request, reply)
    })
  }
  if (options.publicRateLimit !== undefined) {
    const spend = createBudgets(app, 'public', options.publicRateLimit, ({ ip }) => addressOf(ip))
    // After the hooks of the route, so that a 429 has the CORS headers of the route.
    app.addHook('preParsing', async (request, reply) => {
      const { access, unlimited } = request.routeOptions.config
      if (access === undefined && !unlimited) await spend(request, reply)
    })
  }
}

function createBudgets(
  app: FastifyInstance,
  name: string,
  { limit, window }: Rate,
  keyGenerator: (request: FastifyRequest) => string,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const options = { max: limit, timeWindow: window * 1_000, keyGenerator }
  const consume = app.createRateLimit(options)
  return async (request, reply) => {
    const cost = Math.min(request.routeOptions.config.cost ?? 1, limit)
    for (let spent = 0; spent < cost; spent += 1) {
      const state = await consume(request)
      if (state.isAllowed) return
      reply.headers(rateHeaders(name, { limit, window }, state.remaining, state.ttlInSeconds))
      if (state.isExceeded) throw rateLimited(state.ttlInSeconds)
    }
  }
}

/** Headers of draft-ietf-httpapi-ratelimit-headers: q(uota), w(indow), r(emaining), t(ime). */
function rateHeaders(
  name: string,
  { limit, window }: Rate,
  remaining: number,
  seconds: number,
): Record<string, string> {
  return {
    'ratelimit-policy': `"${name}";q=${limit};w=${window}`,
    ratelimit: `"${name}";r=${remaining};t=${seconds}`,
  }
}

function rateLimited(seconds: number): PubringError {
  return new PubringError(
    'rate_limited',
    `The rate limit is exceeded. Try again in ${seconds} seconds; the RateLimit-Policy header states the limit.`,
    { retryAfter: seconds },
  )
}

/** Identifies a client by its IPv4 address or the /64 of its IPv6 address. */
function addressOf(ip: string): string {
  return isIP(ip) === 0 ? 'unknown' : normalizeIP(ip.replace(/%.*$/, ''))
}
