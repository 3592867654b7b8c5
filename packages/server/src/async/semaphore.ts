import { createTurns } from './turns.ts'

/** Returns a permit. Further calls do nothing. */
type Release = () => void

interface SemaphoreOptions {
  permits: number
  maxWaiting?: number
  fullError?: () => Error
  timeoutError?: () => Error
}

/** Limits how many callers proceed at once; the others wait in a bounded queue. */
export function createSemaphore(options: SemaphoreOptions) {
  const { permits, maxWaiting } = options
  const { fullError = () => new Error('too many waiting'), timeoutError = fullError } = options
  const queue = createTurns<() => void>(maxWaiting)
  let acquired = 0

  function releaseOnce(): Release {
    let released = false
    return () => {
      if (released) return
      released = true
      const [next] = queue.take(1)
      if (next === undefined) acquired -= 1
      else next()
    }
  }
  function wait(timeoutMs: number | undefined, holder: string | undefined): Promise<Release> {
    const { promise, resolve } = Promise.withResolvers<Release>()
    const admit = () => resolve(releaseOnce())
    queue.add(admit, holder)
    if (timeoutMs === undefined) return promise
    return withTimeout(promise, timeoutMs, () => {
      queue.remove(holder, admit)
      return timeoutError()
    })
  }
  return {
    /** The number of waiting callers. */
    waiting: queue.count,
    /** Whether all permits are free. */
    isIdle: () => acquired === 0,
    /**
     * Resolves once a permit is free: holders take turns, each in the order of its calls. Rejects with
     * `timeoutError` after `timeoutMs` milliseconds, and with `fullError` at once if `maxWaiting` callers already
     * wait, or half as many of this holder.
     */
    async acquire(timeoutMs?: number, holder?: string): Promise<Release> {
      if (acquired >= permits && !queue.hasRoom(holder)) throw fullError()
      if (acquired >= permits) return wait(timeoutMs, holder)
      acquired += 1
      return releaseOnce()
    },
  }
}

/** A semaphore for each key; callers with different keys do not wait for each other. */
export function createKeyedSemaphore(options: SemaphoreOptions) {
  const semaphores = new Map<string, ReturnType<typeof createSemaphore>>()
  return {
    async acquire(key: string, timeoutMs?: number, holder?: string): Promise<Release> {
      const semaphore = semaphores.get(key) ?? createSemaphore(options)
      semaphores.set(key, semaphore)
      const release = await semaphore.acquire(timeoutMs, holder)
      return () => {
        release()
        if (semaphore.isIdle()) semaphores.delete(key)
      }
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
