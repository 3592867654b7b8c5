import { createTurns } from './turns.ts'

/** Returns a permit. Further calls do nothing. */
type Release = () => void

interface SemaphoreOptions {
  permits: number
  maxWaiting?: number
  fullError?: () => Error
  timeoutError?: () => Error
}

interface Claim {
  /** Who takes turns with the other holders. */
  holder?: string | undefined
  /** Only one caller at a time has a permit with this key. */
  key?: string | undefined
}

interface Waiter extends Claim {
  admit(): void
}

/**
 * Limits how many callers proceed at once; the others wait in a bounded queue. Permits and keys are taken together, so
 * that nobody holds a key while waiting for a permit.
 */
export function createSemaphore(options: SemaphoreOptions) {
  const { permits, maxWaiting } = options
  const { fullError = () => new Error('too many waiting'), timeoutError = fullError } = options
  const queue = createTurns<Waiter>(maxWaiting)
  const heldKeys = new Set<string>()
  let acquired = 0

  function isKeyFree({ key }: Claim): boolean {
    return key === undefined || !heldKeys.has(key)
  }
  function start({ key }: Claim): Release {
    acquired += 1
    if (key !== undefined) heldKeys.add(key)
    let released = false
    return () => {
      if (released) return
      released = true
      acquired -= 1
      if (key !== undefined) heldKeys.delete(key)
      for (const next of queue.take(1, isKeyFree)) next.admit()
    }
  }
  function wait(timeoutMs: number | undefined, claim: Claim): Promise<Release> {
    const { promise, resolve } = Promise.withResolvers<Release>()
    const waiter = { ...claim, admit: () => resolve(start(claim)) }
    queue.add(waiter, claim.holder)
    if (timeoutMs === undefined) return promise
    return withTimeout(promise, timeoutMs, () => {
      queue.remove(claim.holder, waiter)
      return timeoutError()
    })
  }
  return {
    /** The number of waiting callers. */
    waiting: queue.count,
    /** Whether all permits are free. */
    isIdle: () => acquired === 0,
    /**
     * Resolves once a permit and the key are free: holders take turns, each in the order of its calls. Rejects with
     * `timeoutError` after `timeoutMs` milliseconds, and with `fullError` at once if there is no room to wait.
     */
    async acquire(timeoutMs?: number, claim: Claim = {}): Promise<Release> {
      if (acquired < permits && isKeyFree(claim)) return start(claim)
      if (!queue.hasRoom(claim.holder)) throw fullError()
      return wait(timeoutMs, claim)
    },
  }
}

/** Rejects with `timeoutError()` unless the promise settles within that many milliseconds. */
export function withTimeout<Result>(
  promise: Promise<Result>,
  timeoutMs: number,
  timeoutError: () => Error,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timeoutError()), timeoutMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
