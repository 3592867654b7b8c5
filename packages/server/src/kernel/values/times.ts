import { invalidField } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'

/** RFC 3339 section 5.6. */
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** ISO 8601 in UTC with milliseconds, as Pubring writes all times; sorting the text sorts the times. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function now(clock: Clock): string {
  return isoTime(clock.now())
}

/** The later of two times. It keeps `updateTime` from going back when the clock does. */
export function latest(a: string, b: string): string {
  return a > b ? a : b
}

/** The earliest of these ends; undefined is no end. */
export function earliest(end: string, ...others: (string | undefined)[]): string
export function earliest(...ends: (string | undefined)[]): string | undefined
export function earliest(...ends: (string | undefined)[]): string | undefined {
  return ends.filter((end) => end !== undefined).sort()[0]
}

/** Epoch milliseconds of an RFC 3339 time; undefined if the text is none. */
export function parseTimeMs(text: string): number | undefined {
  const ms = rfc3339.test(text) ? Date.parse(text.toUpperCase().replace(' ', 'T')) : Number.NaN
  return Number.isNaN(ms) || !isCalendarDay(text.slice(0, 10)) ? undefined : ms
}

/** Epoch milliseconds at the start of the year 10000, which `isoTime` cannot write in four digits. */
export const year10000 = 253_402_300_800_000

/** Parses a time in the past or future; throws `invalid_request`. */
export function parseTime(text: string, field = 'expireTime'): string {
  const ms = parseTimeMs(text)
  if (ms === undefined) {
    throw invalidField(
      `/${field}`,
      'time_invalid',
      `${field} must be an RFC 3339 time with a time zone, such as 2027-05-01T12:00:00Z.`,
    )
  }
  if (ms >= year10000) {
    throw invalidField(`/${field}`, 'time_invalid', `${field} must lie before the year 10000.`)
  }
  return isoTime(ms)
}

/** Rejects 30 February, which Date.parse turns into a day in March. */
function isCalendarDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && isoTime(ms).startsWith(day)
}

/**
 * Whether a JWT key or an API key is active: enabled, not expired, and as its ledger says. Lists, the
 * JWKS, token checks and authentication all use this rule. A key expires in the very millisecond of
 * its `expireTime`.
 */
export function isActive(
  key: { enabled: boolean; expireTime?: string; contradicted?: true },
  now: string,
): boolean {
  return key.enabled && !key.contradicted && !isExpired(key, now)
}

export function isExpired({ expireTime }: { expireTime?: string }, now: string): boolean {
  return expireTime !== undefined && expireTime <= now
}

/** Parses an `expireTime`, which must lie in the future; throws `invalid_request`. */
export function parseExpireTime(text: string, now: string): string {
  const time = parseTime(text)
  requireFuture(time, now)
  return time
}

function requireFuture(expireTime: string, now: string): void {
  if (expireTime > now) return
  throw invalidField('/expireTime', 'time_past', 'expireTime must lie in the future.')
}

/**
 * Throws `invalid_request` if a patch of a JWT key or an API key sets a past `expireTime`, or
 * activates an expired one without a new or cleared `expireTime`. The current `expireTime` is no
 * change, so sending a resource back as it was read always succeeds.
 */
export function requireValidExpiry(
  before: { expireTime?: string },
  patch: { active?: boolean; expireTime?: string | null },
  now: string,
): void {
  const { expireTime } = patch
  const isUnchanged = expireTime === undefined || expireTime === before.expireTime
  if (!isUnchanged && expireTime !== null) requireFuture(expireTime, now)
  if (!isExpired(before, now) || !isUnchanged || patch.active !== true) return
  throw invalidField(
    '/active',
    'key_expired',
    `This key expired at ${before.expireTime}. To activate it again, send a later expireTime, or null to clear it, with active.`,
  )
}

/** The `expireTime` of a patch, which may be absent, or `null` to clear it. */
export function parseExpiryPatch(expireTime: string | null | undefined): {
  expireTime?: string | null
} {
  return expireTime === undefined ? {} : { expireTime: expireTime && parseTime(expireTime) }
}

/** The `expireTime` after a patch, in which `null` clears it. */
export function patchExpireTime(
  before: { expireTime?: string },
  patch: { expireTime?: string | null },
): { expireTime?: string } {
  const expireTime = patch.expireTime === undefined ? before.expireTime : patch.expireTime
  return typeof expireTime === 'string' ? { expireTime } : {}
}
