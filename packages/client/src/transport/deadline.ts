/** An abort signal that a timer or a parent signal can trigger, until it is cleared. */
type Deadline = {
  signal: AbortSignal
  /** Whether the timer aborted it. */
  expired(): boolean
  /** Restarts the timer. */
  restart(): void
  /** Removes the timer and the listener. Must be called. */
  clear(): void
}

/** Aborts after `timeoutMs` or with `parent`. A `background` timer keeps no Node process alive. */
export function createDeadline(
  timeoutMs: number,
  parent?: AbortSignal,
  background = false,
): Deadline {
  const controller = new AbortController()
  let expired = false
  let timer: Timer | undefined
  const abort = () => controller.abort(parent?.reason)
  const expire = () => {
    expired = true
    controller.abort(new DOMException('The deadline has passed.', 'TimeoutError'))
  }
  const clear = () => {
    clearTimeout(timer)
    parent?.removeEventListener('abort', abort)
  }
  const restart = () => {
    clearTimeout(timer)
    if (!controller.signal.aborted) timer = startTimer(expire, timeoutMs, background)
  }
  if (parent?.aborted) abort()
  else parent?.addEventListener('abort', abort, { once: true })
  restart()
  return { signal: controller.signal, expired: () => expired, restart, clear }
}

/** Resolves after `delayMs`; rejects with the signal's reason when it is aborted first. */
export function sleep(delayMs: number, signal?: AbortSignal, background = false): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const wake = () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    const timer = startTimer(wake, delayMs, background)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Settles as the promise does; rejects with the signal's reason when it is aborted first. */
export function untilAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort))
  })
}

type Timer = ReturnType<typeof setTimeout>

/** Timers are objects with `unref` in Node, and numbers in browsers. */
function startTimer(run: () => void, delayMs: number, background: boolean): Timer {
  const timer: unknown = setTimeout(run, delayMs)
  if (background && typeof timer === 'object' && timer !== null && 'unref' in timer) {
    if (typeof timer.unref === 'function') timer.unref()
  }
  return timer as Timer
}
