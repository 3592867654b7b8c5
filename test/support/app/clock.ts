import type { Clock } from '../../../src/core/context.ts'

export interface TestClock extends Clock {
  /** Lets milliseconds pass at once. */
  advance(ms: number): void
}

/** The real time, until it is advanced. */
export function testClock(): TestClock {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    monotonic: () => performance.now() + ahead,
    advance: (ms) => {
      ahead += ms
    },
  }
}
