import { onTestFinished, vi } from 'vitest'
import type { Clock } from '../../../packages/server/src/runtime/clock.ts'

export interface TestClock extends Clock {
  /** Moves the clock ahead. */
  advance(ms: number): void
}

/** A clock that stands still until it is moved ahead. In whole milliseconds, so that sums are exact. */
export function stoppedClock(): TestClock {
  const [startTime, start] = [Date.now(), Math.ceil(performance.now())]
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

/** Moves the clock of this process ahead until the test ends. */
export function advanceDate(ms: number): void {
  const start = Date.now() + ms - performance.now()
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => Math.floor(start + performance.now()))
  onTestFinished(() => spy.mockRestore())
}
