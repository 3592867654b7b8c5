/** A signal that can be ended by a caller's signal or by time, and by nothing once it is cleared. */
export type Deadline = {
  signal: AbortSignal
  /** Whether it was time that ended it. */
  expired(): boolean
  /** Counts the time from now on again. */
  restart(): void
  /** Must be called: leaves neither timer nor listener behind. */
  clear(): void
}

/**
 * A deadline of so many milliseconds, ended by `signal` too. In the background its timer keeps no
 * Node process alive.
 */
export function deadline(milliseconds: number, signal?: AbortSignal, background = false): Deadline {
  const controller = new AbortController()
  let expired = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = () => controller.abort(signal?.reason)
  const expire = () => {
    expired = true
    controller.abort(new DOMException('The time is over.', 'TimeoutError'))
  }
  const clear = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
  const restart = () => {
    clearTimeout(timer)
    if (controller.signal.aborted) return
    timer = setTimeout(expire, milliseconds)
    if (background) unref(timer)
  }
  if (signal?.aborted) end()
  else signal?.addEventListener('abort', end, { once: true })
  restart()
  return { signal: controller.signal, expired: () => expired, restart, clear }
}

/** Resolves after so many milliseconds; rejects with the reason of `signal` once it is aborted. */
export function pause(
  milliseconds: number,
  signal?: AbortSignal,
  background = false,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, milliseconds)
    if (background) unref(timer)
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** Timers of Node are objects that can be taken out of the count; those of browsers are numbers. */
function unref(timer: unknown): void {
  if (typeof timer !== 'object' || timer === null || !('unref' in timer)) return
  if (typeof timer.unref === 'function') timer.unref()
}
