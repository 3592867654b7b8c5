import type { PubringError } from '../errors.ts'

/** Upper bound of the first retry delay; it doubles with each further retry. */
const firstDelayMs = 200

const maxDelayMs = 5_000

/** A longer `Retry-After` fails the call instead of delaying it. */
const maxRetryAfterSeconds = 30

/** When a request may be sent again. */
export type RetryMode =
  /** After any transient failure: the request is idempotent. */
  | 'always'
  /** Only when the service has certainly not processed it. */
  | 'if-not-processed'

/** Statuses of gateways and of Pubring itself that a retry may cure. */
const transientStatuses = [429, 502, 503, 504]

/** Whether the response says that the request was rejected before it was processed. */
function wasNotProcessed({ code, status }: PubringError): boolean {
  return status === 429 || code === 'overloaded'
}

/** Whether the service may or may not have processed the request that failed with this error. */
export function isOutcomeUnknown(error: PubringError): boolean {
  if (wasNotProcessed(error)) return false
  return error.code === 'unreachable' || error.code === 'timeout' || (error.status ?? 0) >= 500
}

/** Whether the request may be sent again after this error, with a chance of success. */
export function mayRetry(error: PubringError, mode: RetryMode): boolean {
  if ((error.retryAfter ?? 0) > maxRetryAfterSeconds) return false
  if (wasNotProcessed(error)) return true
  if (mode === 'if-not-processed') return false
  const { code, status } = error
  return code === 'unreachable' || code === 'timeout' || transientStatuses.includes(status ?? 0)
}

/** The delay before retry number `retry` (from 0): `Retry-After`, then full-jitter backoff. */
export function retryDelayMs(retry: number, retryAfter = 0): number {
  const backoff = Math.min(maxDelayMs, firstDelayMs * 2 ** retry)
  return retryAfter * 1_000 + Math.random() * backoff
}

/** `Retry-After` in seconds, from a number or a date (RFC 9110 section 10.2.3). */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - Date.now()) / 1_000))
}
