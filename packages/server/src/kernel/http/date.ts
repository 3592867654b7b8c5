import type { Clock } from '../../runtime/clock.ts'

/**
 * Returns the `Date` header by this clock. Node's own is that of the machine, by which a command would
 * wait too short a time for caches if the clock of one replica were ahead.
 */
export function createHttpDate(clock: Clock): () => string {
  let second = Number.NaN
  let text = ''
  return () => {
    const now = Math.floor(clock.now() / 1_000)
    if (now !== second) text = new Date(now * 1_000).toUTCString()
    second = now
    return text
  }
}
