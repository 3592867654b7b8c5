import { isIP } from 'node:net'
import rateLimit, { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../errors.ts'
import type { HttpOptions, Rate } from '../options.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requests that one of this operation counts for; absent: one. */
    cost?: number
    /** Supervisors ask here: it is never limited, and answered under any load. */
    unlimited?: true
  }
}

/** Budgets that are kept; beyond it the one that was used least recently starts anew. */
const maxBudgets = 10_000

/**
 * Counts what each API key asks for, and for the operations without one what each client address
 * asks for: two kinds of budget, and no request takes from that of somebody else. A request whose
 * API key is not valid takes from none: it costs a digest and one look-up.
 */
export async function addRateLimits(app: FastifyInstance, options: HttpOptions): Promise<void> {
  await app.register(rateLimit, { global: false })
  if (options.rateLimit !== undefined) {
    const spend = budgets(app, 'api-key', options.rateLimit, (request) => apiKeyOf(request))
    app.addHook('onRequest', async (request, reply) => {
      if (request.principal !== undefined) await spend(request, reply)
    })
  }
  if (options.publicRateLimit !== undefined) {
    const spend = budgets(app, 'public', options.publicRateLimit, ({ ip }) => addressOf(ip))
    // After the hooks of the route, so that a refusal is open to all origins where the answer is.
    app.addHook('preParsing', async (request, reply) => {
      const { access, unlimited } = request.routeOptions.config
      if (access === undefined && !unlimited) await spend(request, reply)
    })
  }
}

function budgets(
  app: FastifyInstance,
  name: string,
  { limit, window }: Rate,
  keyGenerator: (request: FastifyRequest) => string,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const options = { max: limit, timeWindow: window * 1_000, keyGenerator, cache: maxBudgets }
  const take = app.createRateLimit(options)
  return async (request, reply) => {
    const cost = Math.min(request.routeOptions.config.cost ?? 1, limit)
    for (let taken = 0; taken < cost; taken += 1) {
      const state = await take(request)
      if (state.isAllowed) return
      reply.headers(rateHeaders(name, { limit, window }, state.remaining, state.ttlInSeconds))
      if (state.isExceeded) throw rateLimited(state.ttlInSeconds)
    }
  }
}

/** As draft-ietf-httpapi-ratelimit-headers has them: q(uota) per w(indow), r(emaining), t(ime). */
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
    `These were more requests than the limit allows. Come back in ${seconds} seconds; the RateLimit-Policy header says how many fit into how long.`,
    { retryAfter: seconds },
  )
}

function apiKeyOf({ principal }: FastifyRequest): string {
  return principal?.apiKeyId ?? ''
}

/** One client: an IPv4 address, or the /64 that an IPv6 address is in. */
function addressOf(ip: string): string {
  return isIP(ip) === 0 ? 'unknown' : normalizeIP(ip.replace(/%.*$/, ''))
}
