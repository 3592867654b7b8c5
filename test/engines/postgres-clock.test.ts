import { expect, test } from 'vitest'
import { createDatabaseClock } from '../../packages/server/src/kernel/storage/postgres/clock.ts'

const hour = 3_600_000

test.each([hour, -hour])(
  'the clock of the database is kept, %i ms away from that of this machine',
  (ms) => {
    const clock = createDatabaseClock()
    const sentAt = clock.monotonic() - 100
    const reading = Date.now() + ms
    clock.observe(reading, sentAt)
    expect(clock.now()).toBeGreaterThanOrEqual(Math.floor(reading))
    expect(clock.now() - reading).toBeLessThan(hour / 2)
  },
)

test('a reading that took long does not move a clock that may be right', () => {
  const clock = createDatabaseClock()
  const before = clock.now()
  clock.observe(before - 50, clock.monotonic() - 100)
  expect(clock.now()).toBeGreaterThanOrEqual(before)
})
