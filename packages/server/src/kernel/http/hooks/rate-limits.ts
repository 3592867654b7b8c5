import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { PubringError } from '../../../errors.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Rate } from '../../context.ts'
import type { Kernel } from '../../kernel.ts'
import { changerOf } from '../../ledger/chain.ts'
import type { HttpOptions } from '../options.ts'
import { clientAddress } from '../request/headers.ts'

/** Limits requests and changes so that no caller uses up the budget of another. */
export function addRateLimits(app: FastifyInstance, kernel: Kernel, options: HttpOptions): void {
  const { clock } = kernel
  const { rateLimit, publicRateLimit, writeLimit } = options
  const reason = 'The rate limit is exceeded.'
  if (rateLimit !== undefined) {
    const spend = createLimit(clock, { name: 'api-key', rate: rateLimit, reason })
    app.addHook('onRequest', async ({ principal, routeOptions }, reply) => {
      if (principal !== undefined) spend(principal.callerId, reply, routeOptions.config.cost)
    })
  }
  if (publicRateLimit !== undefined) {
    const spend = createLimit(clock, { name: 'public', rate: publicRateLimit, reason })
    // After the hooks of the route, so that a 429 has the CORS headers of the route.
    app.addHook('preParsing', async (request, reply) => {
      const { access, unlimited } = request.routeOptions.config
      if (access === undefined && !unlimited) spend(clientAddress(request), reply)
    })
  }
  if (writeLimit !== undefined) limitChanges(app, kernel, writeLimit)
}

/**
 * Operations that exist to change something count before their work. Every other change that a caller
 * makes, such as a session, counts when it is committed, so that none can be left out; a request that
 * makes several counts once. Routes with 0 `changes` are exempt.
 */
function limitChanges(app: FastifyInstance, { clock, beforeCommit }: Kernel, rate: Rate): void {
  const reason = 'Your API key has made too many changes.'
  const spend = createLimit(clock, { name: 'changes', rate, reason })
  /** The request in whose handler the code runs, also after its client has disconnected. */
  const running = new AsyncLocalStorage<{ reply: FastifyReply; isCounted: boolean }>()
  // After validation, since the number of changes depends on the body.
  app.addHook('preHandler', (request, reply, done) => {
    const { principal, method, routeOptions } = request
    const { access, changes } = routeOptions.config
    const count = changes?.(request) ?? 1
    const isRead = method === 'GET' || method === 'HEAD'
    const isMeant = !isRead && principal !== undefined && access?.role !== 'reader'
    try {
      if (isMeant && count > 0) spend(changerOf(principal.actor) ?? '', reply, count)
    } catch (error) {
      return done(error as Error)
    }
    running.run({ reply, isCounted: isMeant || count === 0 }, done)
  })
  beforeCommit(({ actor, requestId }) => {
    const request = running.getStore()
    const changer = changerOf(actor)
    const isOpen = request?.isCounted === false && request.reply.request.id === requestId
    if (!isOpen || changer === undefined) return
    spend(changer, request.reply)
    request.isCounted = true
  })
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
): SpendFailure | undefined {
  const spend = rate && createLimit(clock, { name, rate, reason })
  return spend && ((request, reply) => spend(clientAddress(request), reply))
}

/** Spends from the budget of the client's address, as `Spend` does. */
export type SpendFailure = (request: FastifyRequest, reply: FastifyReply) => () => void

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
  /** The text of the error before "Try again in …". */
  reason: string
}

/**
 * Spends from the budget of a caller, and states in the reply what is left; throws `rate_limited` if
 * that is too little. Returns what gives it back.
 */
export type Spend = (caller: string, reply: FastifyReply, cost?: number) => () => void

/**
 * Keeps the budgets in memory, for fixed windows of monotonic time: by the wall clock, setting it
 * forward would renew all budgets, and setting it back would block callers until it has caught up.
 */
export function createLimit(clock: Clock, { name, rate, reason }: Limit): Spend {
  const budgets = new LRUCache<string, Budget>({ max: maxBudgets })
  const windowMs = rate.window * 1_000
  return (caller, reply, fullCost = 1) => {
    const time = clock.monotonic()
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
