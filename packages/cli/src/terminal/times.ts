import { isoTime, parseTimeMs, year10000 } from '@pubring/server/kernel/values/times'
import { usageError } from './failures.ts'

const millisecondsPerUnit: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds, from `90s`, `5m`, `1h`, `30d` or `2w`; undefined for anything else. */
function parseDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d+) ?([smhdw])$/.exec(text.trim()) ?? []
  return digits === undefined ? undefined : Number(digits) * (millisecondsPerUnit[unit] ?? 0)
}

/** Seconds, from a duration such as `0`, `90s` or `5m` between two others. Throws a usage error that names the option. */
export function parseDurationOption(
  text: string,
  option: string,
  least = '1s',
  most?: string,
): number {
  const parse = (duration: string) => (duration.trim() === '0' ? 0 : parseDuration(duration))
  const [duration, min = 0, max = Infinity] = [text, least, most ?? ''].map(parse)
  if (duration === undefined) {
    throw usageError(`${option} must be a duration such as 90s, 5m, 1h or 30d.`)
  }
  if (duration >= min && duration <= max) return duration / 1_000
  const range = most === undefined ? `at least ${least}` : `from ${least} to ${most}`
  throw usageError(`${option} must be ${range}.`)
}

/** The value of `--token-lifetime`, in seconds. */
export function parseTokenLifetime(text: string): number {
  return parseDurationOption(text, '--token-lifetime')
}

/**
 * A time, from a duration from now, or with `sign` -1 before now (`90d`), a date (`2027-01-31`: its
 * start in UTC) or RFC 3339. Throws a usage error that names the option.
 */
export function parseTimeOption(text: string, option: string, sign: 1 | -1 = 1): string {
  const trimmed = text.trim()
  const duration = parseDuration(trimmed)
  const time =
    duration === undefined ? parseTime(trimmed) : Math.max(0, Date.now() + sign * duration)
  if (time === undefined) {
    throw usageError(
      `${option} must be a time: a duration ${sign < 0 ? 'before' : 'from'} now in whole numbers (90d, 12h), a date (2027-01-31) or RFC 3339 (2027-01-31T12:00:00Z).`,
    )
  }
  if (time >= year10000) throw usageError(`${option} must be before the year 10000.`)
  return isoTime(time)
}

/** The value of `--expires`. */
export function parseExpires(text: string): string {
  return parseTimeOption(text, '--expires')
}

/** A new expiry, which `never` removes. */
export function parseExpiry(when: string, option: string): string | null {
  return when === 'never' ? null : parseTimeOption(when, option)
}

/** Milliseconds, from a date or from RFC 3339, in which seconds may be missing. */
function parseTime(text: string): number | undefined {
  if (/^[\d-]+$/.test(text)) return parseTimeMs(`${text}T00:00:00Z`)
  return parseTimeMs(text.replace(/^(.{11}\d\d:\d\d)(?=[Zz+-])/, '$1:00'))
}

/** Units, each with its size and the shortest duration expressed in it, in milliseconds. */
const units: readonly [string, number, number][] = [
  ['y', 31_557_600_000, 315_576_000_000],
  ['d', 86_400_000, 172_800_000],
  ['h', 3_600_000, 7_200_000],
  ['min', 60_000, 120_000],
]

/** A duration in a unit of which there are at least two, or ten years: `3 d`. */
export function formatDuration(
  milliseconds: number,
  round: (value: number) => number = Math.ceil,
): string {
  const [unit, size] = units.find(([, , shortest]) => milliseconds >= shortest) ?? ['s', 1_000]
  return `${round(milliseconds / size)} ${unit}`
}

/** A time relative to now: `3 d ago`, `in 2 h`. */
export function formatRelative(time: string): string {
  const distance = Date.parse(time) - Date.now()
  if (Math.abs(distance) < 1_000) return 'now'
  return distance < 0
    ? `${formatDuration(-distance, Math.floor)} ago`
    : `in ${formatDuration(distance)}`
}

export function formatState(item: { active: boolean; expireTime?: string }): string {
  const { active, expireTime = '' } = item
  if (active) return 'active'
  return Date.parse(expireTime) <= Date.now() ? 'expired' : 'inactive'
}
