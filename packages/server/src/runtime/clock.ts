export interface Clock {
  /** Milliseconds since the epoch. The clock may be set back. */
  now(): number
  /** Milliseconds since an arbitrary start, for measuring durations. It never goes back. */
  monotonic(): number
}

/** The clock of this machine. */
export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() }
