import type { Clock } from '../../../packages/server/src/kernel/context.ts'

export interface TestClock extends Clock {
  /** Moves the clock ahead. */
  advance(ms: number): void
}

/** A clock that stands still until it is moved ahead. */
export function stoppedClock(): TestClock {
  const [startTime, start] = [Date.now(), performance.now()]
  let aheadMs = 0
  return {
    now: () => startTime + aheadMs,
    monotonic: () => start + aheadMs,
    advance: (ms) => {
      aheadMs += ms
    },
  }
}

/** The real clock, which can be moved ahead. */
export function testClock(): TestClock {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    monotonic: () => performance.now() + aheadMs,
    advance: (ms) => {
      aheadMs += ms
    },
  }
}
