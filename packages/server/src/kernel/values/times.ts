import { invalidField } from '../../errors.ts'
import type { Clock } from '../context.ts'

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
