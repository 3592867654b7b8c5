import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { PubringError } from '../../../errors.ts'
import type { Clock, Rate } from '../../context.ts'
import type { HttpOptions } from '../options.ts'
import { clientAddress } from '../request/headers.ts'

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
 * Limits failures per client address; undefined if they are not limited. To be spent from after a
 * failure, so that it never keeps out a valid API key; or, where an attempt costs more, before it, and
 * given back after a success.
 */
export function createFailureLimit(
  clock: Clock,
  { authFailureLimit: rate }: HttpOptions,
  { name, reason }: Pick<Limit, 'name' | 'reason'>,
): Spend | undefined {
  return rate && createLimit(clock, { name, rate, callerOf: clientAddress, reason })
}

/** Budgets per limit; the least recently used one is evicted and starts anew. */
const maxBudgets = 10_000

interface Budget {
  used: number
  /** Monotonic milliseconds. */
  startedAt: number
}

/** A limit with a budget for each caller. */
export interface Limit {
  /** The name in the `RateLimit` headers. */
  name: string
  rate: Rate
  callerOf(request: FastifyRequest): string
  /** The text of the error before "Try again in …". */
  reason: string
}

/**
 * Spends from the budget of the request's caller; throws `rate_limited` if too little is left. Returns
 * what gives it back.
 */
export type Spend = (request: FastifyRequest, reply: FastifyReply, cost?: number) => () => void

/**
 * Keeps the budgets in memory, for fixed windows of monotonic time: by the wall clock, setting it
 * forward would renew all budgets, and setting it back would block callers until it has caught up.
 */
export function createLimit(clock: Clock, { name, rate, callerOf, reason }: Limit): Spend {
  const budgets = new LRUCache<string, Budget>({ max: maxBudgets })
  const windowMs = rate.window * 1_000
  return (request, reply, fullCost = 1) => {
    const time = clock.monotonic()
    const caller = callerOf(request)
    const known = budgets.get(caller)
    const isOpen = known !== undefined && time - known.startedAt < windowMs
    const budget = isOpen ? known : { used: 0, startedAt: time }
    budgets.set(caller, budget)
    // A request that costs more than the whole budget needs a full one.
    const cost = Math.min(fullCost, rate.limit)
    const total = budget.used + cost
    budget.used = Math.min(total, rate.limit)
    // In this order, since the sum with a large time is rounded: a new window would have 61 s.
    const seconds = Math.ceil((windowMs - (time - budget.startedAt)) / 1_000)
    addItem(reply, 'ratelimit-policy', name, `q=${rate.limit};w=${rate.window}`)
    addItem(reply, 'ratelimit', name, `r=${rate.limit - budget.used};t=${seconds}`)
    if (total <= rate.limit) {
      return () => {
        budget.used -= cost
      }
    }
    const detail = `${reason} Try again in ${seconds} seconds; the RateLimit-Policy header states the limit.`
    throw new PubringError('rate_limited', detail, { retryAfter: seconds })
  }
}

/**
 * Headers of draft-ietf-httpapi-ratelimit-headers: q(uota), w(indow), r(emaining), t(ime). A request
 * with two limits shows both.
 */
function addItem(reply: FastifyReply, header: string, name: string, parameters: string): void {
  const others = reply.getHeader(header)
  const item = `"${name}";${parameters}`
  reply.header(header, others === undefined ? item : `${others}, ${item}`)
}
