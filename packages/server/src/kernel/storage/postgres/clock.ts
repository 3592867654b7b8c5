import type { Clock } from '../../../runtime/clock.ts'

export type DatabaseClock = ReturnType<typeof createDatabaseClock>

/**
 * The clock of the database, on which all replicas agree: with one of its own, a replica whose clock is
 * wrong would end the sessions of all, or publish keys after their expiry. Between two readings, and while the
 * database is away, it goes on with monotonic time, which setting the clock of this machine does not change.
 */
export function createDatabaseClock() {
  const monotonic = () => performance.now()
  let offset = performance.timeOrigin
  const now = () => Math.floor(offset + monotonic())
  return {
    now,
    monotonic,
    /**
     * Takes a reading, in milliseconds since the epoch, by a statement that was sent at the monotonic time.
     * It was made between then and now, so a clock that may be right stays.
     */
    observe(reading: number, sentAt: number): void {
      offset = Math.max(reading - monotonic(), Math.min(offset, reading - sentAt))
    },
  } satisfies Clock & Record<string, unknown>
}

/** Evaluated when the statement runs, and not when its transaction began. */
export const readingSql = 'extract(epoch from clock_timestamp())::float8 * 1000'
