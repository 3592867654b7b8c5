import { sleep } from '../transport/deadline.ts'
import { retryDelayMs } from '../transport/retry.ts'
import { ranFullWait } from './cache.ts'
import { KeySetError } from './errors.ts'
import type { KeySetResponse } from './fetch.ts'
import { elapsedMs } from './timestamp.ts'

/** Minimum time between two requests, regardless of the responses. */
const minIntervalMs = 100

/** Polling interval if no `Age` header tells when a cached copy expires. */
const defaultPollMs = 5_000

/** Maximum polling interval behind a cache. */
const maxPollMs = 15_000

/** Maximum retry delay, beyond what the service asks for. */
const maxRetryDelayMs = 2_000

/** Maximum wait of a long poll: below the usual limit of proxies, 30 s. */
const maxWaitSeconds = 25

/** A proxy whose limit is shorter than this is not supported. */
const minWaitSeconds = 2

/** Consecutive early responses after which long polling is considered unsupported. */
const maxEarlyResponses = 3

/** How changes arrive: by long polling, or only by polling at intervals. */
export type UpdateMode = 'live' | 'polling'

type FollowOptions = {
  maxStaleMs: number
  /** Whether the key set is still in use. */
  isWanted(): boolean
  /**
   * Sends one long poll and stores its response; `changed` tells whether the key set did. Undefined if
   * the poll was superseded.
   */
  poll(waitSeconds: number): Promise<{ response: KeySetResponse; changed: boolean } | undefined>
  onMode(mode: UpdateMode): void
  onError(error: KeySetError): void
}

/** Short enough to detect a dead connection and try another before the key set becomes stale. */
function pollWaitSeconds(maxStaleMs: number): number {
  return Math.max(1, Math.min(maxWaitSeconds, Math.floor(maxStaleMs / 3_000)))
}

/** A proxy gave up before the service responded, so the next poll has to end sooner. */
function shorterWait(waitSeconds: number): number {
  return Math.max(Math.min(waitSeconds, minWaitSeconds), Math.floor(waitSeconds / 2))
}

/** Follows the key set while it is wanted and until `signal` is aborted. Reports errors, and retries. */
export async function follow(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { maxStaleMs } = options
  let waitSeconds = pollWaitSeconds(maxStaleMs)
  let failures = 0
  let earlyResponses = 0
  while (!signal.aborted && options.isWanted()) {
    let delayMs: number
    try {
      const result = await options.poll(waitSeconds)
      if (result === undefined) continue
      const { response, changed } = result
      failures = 0
      const live = isLive(response, changed, waitSeconds)
      earlyResponses = live ? 0 : earlyResponses + 1
      const unsupported = earlyResponses > maxEarlyResponses
      // A single early response proves nothing: a service that shuts down releases all requests.
      if (live || unsupported) options.onMode(live ? 'live' : 'polling')
      if (live) delayMs = minIntervalMs - elapsedMs(response.sentAt)
      else if (unsupported) delayMs = pollIntervalMs(response, maxStaleMs)
      else delayMs = minIntervalMs + retryDelayMs(earlyResponses)
    } catch (error) {
      if (signal.aborted) return
      const failure = error instanceof KeySetError ? error : unexpectedFailure(error)
      options.onError(failure)
      if (failure.status === 504) waitSeconds = shorterWait(waitSeconds)
      delayMs = failureDelayMs(failures, failure)
      failures += 1
    }
    await sleep(Math.max(0, delayMs), signal, true).catch(() => {})
  }
}

/** Whether the service itself responded, after a change or after the full wait. */
function isLive(response: KeySetResponse, changed: boolean, waitSeconds: number): boolean {
  if (ranFullWait(response, waitSeconds)) return true
  return changed && response.appliedWait === waitSeconds && (response.age ?? 0) === 0
}

/** An error that no request explains: the key set must not become stale without a report and a retry. */
function unexpectedFailure(cause: unknown): KeySetError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new KeySetError('key_set_unavailable', `The key set cannot be updated (${reason}).`, {
    cause,
  })
}

/** Short, because every token is rejected once the key set is stale. */
function failureDelayMs(failures: number, { retryAfter = 0 }: KeySetError): number {
  const requestedMs = Math.min(retryAfter * 1_000, defaultPollMs)
  return requestedMs + Math.min(retryDelayMs(failures), maxRetryDelayMs)
}

/** The time until a cached copy expires, or the default if no `Age` tells. */
function pollIntervalMs({ age, maxAge }: KeySetResponse, maxStaleMs: number): number {
  const remainingMs = age === undefined ? defaultPollMs : (maxAge - age) * 1_000
  return Math.max(1_000, Math.min(remainingMs, maxPollMs, maxStaleMs / 3))
}
