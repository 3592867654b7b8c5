import { pause } from '../deadline.ts'
import { pauseBefore } from '../retry.ts'
import { isHeldToTheEnd } from './cache.ts'
import { KeySetError } from './errors.ts'
import type { KeySetAnswer } from './fetch.ts'
import { since } from './timestamp.ts'

/** Milliseconds between two questions at least, whatever the answers are. */
const leastSpacing = 100

/** Milliseconds between two questions at most where nothing says how long a copy is kept. */
const blindSpacing = 5_000

/** Milliseconds between two questions to a cache at most. */
const longestSpacing = 15_000

/** Milliseconds between two tries at most, beyond what the service asks for. */
const longestRetryPause = 2_000

/** Questions in a row that come back at once before it counts as the rule. */
const patience = 3

/** How the key set is heard of: told at once, or by asking again and again. */
export type Hearing = 'live' | 'polling'

/** What following needs of the key set. */
export type Followed = {
  /** Milliseconds for which what is held is trusted without contact. */
  maxStale: number
  /** Whether anybody still wants it. */
  wanted(): boolean
  /**
   * Asks once, waits for news and takes what comes; answers whether that was another key set, too.
   * Undefined where the question has become pointless.
   */
  wait(seconds: number): Promise<{ answer: KeySetAnswer; changed: boolean } | undefined>
  heard(how: Hearing): void
  failed(error: KeySetError): void
}

/**
 * Seconds that a question waits for news: short enough that a connection which died unnoticed is
 * given up, and another one tried, before trust ends.
 */
function waitFor(maxStale: number): number {
  return Math.max(1, Math.min(60, Math.floor(maxStale / 3_000)))
}

/** Follows the key set while it is wanted and until `signal` is aborted. Never rejects. */
export async function follow(followed: Followed, signal: AbortSignal): Promise<void> {
  const wait = waitFor(followed.maxStale)
  let failures = 0
  let early = 0
  while (!signal.aborted && followed.wanted()) {
    let time: number
    try {
      const heard = await followed.wait(wait)
      if (heard === undefined) continue
      const { answer, changed } = heard
      failures = 0
      const told = isTold(answer, changed, wait)
      early = told ? 0 : early + 1
      // One that comes back early is no proof: a service that shuts down lets all go.
      if (told || early > patience) followed.heard(told ? 'live' : 'polling')
      time = told ? leastSpacing - since(answer.sent) : untilNext(answer, early, followed.maxStale)
    } catch (error) {
      if (signal.aborted || !(error instanceof KeySetError)) return
      followed.failed(error)
      time = untilRetry(failures, error)
      failures += 1
    }
    await pause(Math.max(0, time), signal, true).catch(() => {})
  }
}

/** Whether the answer came when there was something to tell, and from the service itself. */
function isTold(answer: KeySetAnswer, changed: boolean, wait: number): boolean {
  if (isHeldToTheEnd(answer, wait)) return true
  return changed && answer.applied === wait && (answer.age ?? 0) === 0
}

/** Milliseconds before another try; short, since every token is refused before long. */
function untilRetry(failures: number, { retryAfter = 0 }: KeySetError): number {
  const wished = Math.min(retryAfter * 1_000, blindSpacing)
  return wished + Math.min(pauseBefore(failures), longestRetryPause)
}

/** Milliseconds until a copy in a cache ends, or what is usual where nobody says. */
function untilNext({ age, maxAge }: KeySetAnswer, early: number, maxStale: number): number {
  if (early <= patience) return leastSpacing + pauseBefore(early)
  const rest = age === undefined ? blindSpacing : (maxAge - age) * 1_000
  return Math.max(1_000, Math.min(rest, longestSpacing, maxStale / 3))
}
