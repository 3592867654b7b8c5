import type { IncomingHttpHeaders } from 'node:http'
import { onlyStale } from './held-requests.ts'

/** A request is held no longer. */
const maxWaitSeconds = 60

/** A request for a stale key set is held no longer: this process may not see its changes. */
const maxStaleWaitSeconds = 2

/** The preference `wait` (RFC 7240 section 4.3). The first of several applies (section 2). */
const wait = /(?:^|,)\s*wait\s*(?:=([^,;]*))?(?=[,;]|$)/i

/** A quoted string, in which a comma separates nothing, with its digits if it has nothing else. */
const quoted = /"(?:(\d+)"|(?:[^"\\]|\\.)*"?)/gs

/** The seconds for which a request may be held; undefined if it has no valid `wait`. */
export function heldSeconds(
  header: string | string[] | undefined,
  isStale: boolean,
): number | undefined {
  const text = [header]
    .flat()
    .join(',')
    .replace(quoted, (_string, digits = '""') => digits)
  const [, seconds = ''] = wait.exec(text) ?? []
  const maximum = isStale ? maxStaleWaitSeconds : maxWaitSeconds
  return /^\s*\d+\s*$/.test(seconds) ? Math.min(Number(seconds), maximum) : undefined
}

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
