import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/context.ts'

/** Budgets in memory; the least recently used one is evicted and starts anew. */
const maxBudgets = 10_000

interface Budget {
  used: number
  /** Monotonic milliseconds. */
  startedAt: number
}

/**
 * A store for `@fastify/rate-limit` with fixed windows of monotonic time. The store that the plugin
 * brings uses the wall clock: setting that forward renews all budgets, and setting it back blocks
 * callers until it has caught up.
 */
export function budgetStore(clock: Clock): FastifyRateLimitStoreCtor {
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
