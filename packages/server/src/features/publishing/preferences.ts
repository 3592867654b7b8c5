import type { IncomingHttpHeaders } from 'node:http'
import { onlyStale } from './held-requests.ts'

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const quoted = '"(?:[^"\\\\]|\\\\.)*"'
/** Preferences are separated by commas, except for commas in a quoted string. */
const separated = new RegExp(`(?:[^,"]|${quoted}|")+`, 'g')
const preference = new RegExp(`^\\s*(${token})\\s*(?:=\\s*(${token}|${quoted})\\s*)?(?:;.*)?$`, 's')

/** A request is held no longer. */
const maxWaitSeconds = 60

/** A request for a stale key set is held no longer: this process may not see its changes. */
const maxStaleWaitSeconds = 2

/** A longer header is ignored: each of 10,000 held requests can send one. */
const maxLength = 200

/** The seconds for which a request may be held; undefined if it has no valid `wait`. */
export function heldSeconds(
  header: string | string[] | undefined,
  isStale: boolean,
): number | undefined {
  const preferred = preferredWait(header)
  return preferred && Math.min(preferred, isStale ? maxStaleWaitSeconds : maxWaitSeconds)
}

/**
 * The seconds of the preference `wait` (RFC 7240 section 4.3), or undefined if it is absent or
 * malformed, which is not an error. The first of several applies (section 2).
 */
export function preferredWait(header: string | string[] | undefined): number | undefined {
  const text = [header].flat().join(',')
  if (text.length > maxLength) return undefined
  for (const [part] of text.matchAll(separated)) {
    const [, name, value = ''] = preference.exec(part) ?? []
    if (name?.toLowerCase() !== 'wait') continue
    const digits = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/gs, '$1') : value
    return /^\d+$/.test(digits) ? Number(digits) : undefined
  }
  return undefined
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
