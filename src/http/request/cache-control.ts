import type { IncomingHttpHeaders } from 'node:http'
import { onlyStale } from '../../core/publishing/held-requests.ts'

/** RFC 5861 section 4; `max-stale` (RFC 9111) can permit stale answers, but not refuse them. */
const staleIfError = /(?:^|,)\s*stale-if-error\s*=\s*"?(\d{1,9})"?\s*(?:,|$)/i

/**
 * The age in milliseconds up to which the client accepts an answer from memory while the database is
 * unavailable; any age unless its `Cache-Control` has `stale-if-error=SECONDS`.
 */
function acceptedStaleMs({ 'cache-control': header = '' }: IncomingHttpHeaders): number {
  const [, seconds] = staleIfError.exec(header) ?? []
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000
}

/** Whether the client accepts no stale answer at all. */
export function isFreshOnly(headers: IncomingHttpHeaders): boolean {
  return acceptedStaleMs(headers) === 0
}

/** Throws `storage_unavailable` if the client accepts no document that is as stale as this one. */
export function requireAccepted(
  headers: IncomingHttpHeaders,
  { staleMs = 0 }: { staleMs?: number },
): void {
  if (staleMs > acceptedStaleMs(headers)) throw onlyStale()
}
