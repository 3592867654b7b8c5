import rateLimit, {
  type FastifyRateLimitStore,
  type FastifyRateLimitStoreCtor,
} from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/context.ts'
import { PubringError } from '../../errors.ts'
import type { Rate } from '../options.ts'

/** Budgets per limit; the least recently used one is evicted and starts anew. */
const maxBudgets = 10_000

interface Budget {
  used: number
  /** Monotonic milliseconds. */
  startedAt: number
}

/** A limit with a budget for each caller. */
interface Limit {
  /** As it appears in the `RateLimit` headers. */
  name: string
  rate: Rate
  callerOf(request: FastifyRequest): string
  /** What the error says before "Try again in …". */
  reason: string
}

/** Spends from the budget of the request's caller; throws `rate_limited` if too little is left. */
export type Spend = (request: FastifyRequest, reply: FastifyReply, cost?: number) => Promise<void>

/** Prepares `createLimit`. Budgets are kept in memory. */
export async function addBudgets(app: FastifyInstance, clock: Clock): Promise<void> {
  await app.register(rateLimit, { global: false, store: budgetStore(clock) })
}

export function createLimit(app: FastifyInstance, limit: Limit): Spend {
  const { name, rate, callerOf, reason } = limit
  const options = { max: rate.limit, timeWindow: rate.window * 1_000, keyGenerator: callerOf }
  const consume = app.createRateLimit(options)
  return async (request, reply, cost = 1) => {
    for (let spent = 0; spent < Math.min(cost, rate.limit); spent += 1) {
      const state = await consume(request)
      if (state.isAllowed) return
      const { remaining, ttlInSeconds: seconds, isExceeded } = state
      reply.headers(rateHeaders(reply, { name, rate, remaining, seconds }))
      if (isExceeded) throw rateLimited(reason, seconds)
    }
  }
}

/**
 * Fixed windows of monotonic time. The plugin's own store uses the wall clock: setting that forward
 * renews all budgets, and setting it back blocks callers until it has caught up.
 */
function budgetStore(clock: Clock): FastifyRateLimitStoreCtor {
  // The plugin constructs its store with `new`, and one for each limit with `child`.
  return class BudgetStore implements FastifyRateLimitStore {
    readonly #budgets = new LRUCache<string, Budget>({ max: maxBudgets })

    incr(...[caller, callback, windowMs]: Parameters<FastifyRateLimitStore['incr']>): void {
      const time = clock.monotonic()
      const known = this.#budgets.get(caller)
      const isOpen = known !== undefined && time - known.startedAt < windowMs
      const budget = isOpen ? known : { used: 0, startedAt: time }
      budget.used += 1
      if (!isOpen) this.#budgets.set(caller, budget)
      callback(null, { current: budget.used, ttl: budget.startedAt + windowMs - time })
    }
    child(): BudgetStore {
      return new BudgetStore()
    }
  }
}

/**
 * Headers of draft-ietf-httpapi-ratelimit-headers: q(uota), w(indow), r(emaining), t(ime). A request
 * that spends several times shows what is left in the end; one with two limits shows both.
 */
function rateHeaders(
  reply: FastifyReply,
  { name, rate, remaining, seconds }: RateState,
): Record<string, string> {
  const others = (header: string) =>
    String(reply.getHeader(header) ?? '')
      .split(', ')
      .filter((item) => item !== '' && !item.startsWith(`"${name}"`))
  const policy = `"${name}";q=${rate.limit};w=${rate.window}`
  const state = `"${name}";r=${remaining};t=${seconds}`
  return {
    'ratelimit-policy': [...others('ratelimit-policy'), policy].join(', '),
    ratelimit: [...others('ratelimit'), state].join(', '),
  }
}

interface RateState {
  name: string
  rate: Rate
  remaining: number
  seconds: number
}

function rateLimited(reason: string, seconds: number): PubringError {
  const detail = `${reason} Try again in ${seconds} seconds; the RateLimit-Policy header states the limit.`
  return new PubringError('rate_limited', detail, { retryAfter: seconds })
}
