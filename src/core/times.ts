import { invalidField } from '../errors.ts'
import type { Clock } from './context.ts'

/** RFC 3339 section 5.6, with a time zone. */
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** The one spelling of times: ISO 8601, UTC, milliseconds. It sorts as text as it does in time. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function now(clock: Clock): string {
  return isoTime(clock.now())
}

/** The later of two times: so that an `updateTime` never goes back when a clock does. */
export function latest(a: string, b: string): string {
  return a > b ? a : b
}

/** Milliseconds of an RFC 3339 time with its zone; undefined where the text is none. */
export function parseTimeMs(text: string): number | undefined {
  const ms = rfc3339.test(text) ? Date.parse(text.toUpperCase().replace(' ', 'T')) : Number.NaN
  return Number.isNaN(ms) || !isCalendarDay(text.slice(0, 10)) ? undefined : ms
}

/** Milliseconds at which the year 10000 begins: times of one spelling end there. */
export const year10000 = 253_402_300_800_000

/** Reads a caller's moment, past or future; throws `invalid_request`. */
export function parseTime(text: string, field = 'expireTime'): string {
  const ms = parseTimeMs(text)
  if (ms === undefined) {
    throw invalidField(
      `/${field}`,
      'time_invalid',
      `${field} must be an RFC 3339 time with its zone, such as 2027-05-01T12:00:00Z.`,
    )
  }
  if (ms >= year10000) {
    throw invalidField(`/${field}`, 'time_invalid', `${field} must lie before the year 10000.`)
  }
  return isoTime(ms)
}

/** Date.parse rolls 30 February over to March; the day that comes out must be the one asked for. */
function isCalendarDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(ms) && isoTime(ms).startsWith(day)
}
