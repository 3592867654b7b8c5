/**
 * A point in time by two clocks, in milliseconds: the monotonic clock is never adjusted, and the wall
 * clock keeps running while the machine sleeps.
 */
export type Timestamp = { monotonicMs: number; epochMs: number }

export function now(): Timestamp {
  return { monotonicMs: performance.now(), epochMs: Date.now() }
}

/** Time since then by the clock that shows more, so that cached data never seems younger than it is. */
export function elapsedMs({ monotonicMs, epochMs }: Timestamp): number {
  return Math.max(performance.now() - monotonicMs, Date.now() - epochMs)
}

export function addMs({ monotonicMs, epochMs }: Timestamp, ms: number): Timestamp {
  return { monotonicMs: monotonicMs + ms, epochMs: epochMs + ms }
}
