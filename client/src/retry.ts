import type { PubringError } from './errors.ts'

/** Milliseconds that the first pause takes at most; each next one may take twice as long. */
const firstPause = 200

/** Milliseconds that no pause exceeds, unless the service asks for more. */
const longestPause = 5_000

/** Seconds of `Retry-After` that are waited for at most; whoever is told more gets the error. */
const longestRetryAfter = 30

/** What a repetition of the request could do that the first one did not. */
export type Repeatable =
  /** Nothing: it reads, or it states what shall be. */
  | 'always'
  /** Something twice, unless the service says that it did nothing. */
  | 'refused'

/** Answers of gateways and of Pubring itself that mean: not now. */
const passing = [429, 502, 503, 504]

/** Whether the answer says that the request was turned away before anything was done. */
function saysNothingDone({ code, status }: PubringError): boolean {
  return status === 429 || code === 'overloaded'
}

/** Whether it is unknown, after this error, if the service has done what was asked. */
export function isUnclear(error: PubringError): boolean {
  if (saysNothingDone(error)) return false
  return error.code === 'unreachable' || error.code === 'timeout' || (error.status ?? 0) >= 500
}

/** Whether the request may be sent again after this error, and has a chance. */
export function mayRepeat(error: PubringError, repeatable: Repeatable): boolean {
  if ((error.retryAfter ?? 0) > longestRetryAfter) return false
  if (saysNothingDone(error)) return true
  if (repeatable === 'refused') return false
  const { code, status } = error
  return code === 'unreachable' || code === 'timeout' || passing.includes(status ?? 0)
}

/**
 * Milliseconds to wait before repetition number `repetition` (from 0): exponential with full jitter,
 * after what the service asked for.
 */
export function pauseBefore(repetition: number, retryAfter = 0): number {
  const most = Math.min(longestPause, firstPause * 2 ** repetition)
  return retryAfter * 1_000 + Math.random() * most
}

/** Seconds of a `Retry-After`: a number or a date (RFC 9110 section 10.2.3). */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - Date.now()) / 1_000))
}
