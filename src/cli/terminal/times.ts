import { isoTime, parseTimeMs, year10000 } from '../../core/times.ts'
import { usageError } from './failures.ts'
import type { Terminal } from './terminal.ts'

const millisecondsPerUnit: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds, from `90s`, `5m`, `1h`, `30d` or `2w`; undefined for anything else. */
function readDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d+) ?([smhdw])$/.exec(text.trim()) ?? []
  return digits === undefined ? undefined : Number(digits) * (millisecondsPerUnit[unit] ?? 0)
}

/** Seconds, from `0`, `90s`, `5m` or `1h`. Throws a usage error that names the option. */
export function parseDurationOption(text: string, option: string): number {
  const time = text.trim() === '0' ? 0 : readDuration(text)
  if (time === undefined) {
    throw usageError(`${option} must be a time such as 90s, 5m, 1h or 30d.`)
  }
  return time / 1_000
}

/**
 * A moment, from a time from now on (`90d`), a day (`2027-01-31`: its beginning, in UTC) or RFC 3339.
 * Throws a usage error that names the option.
 */
export function parseTimeOption(text: string, option: string): string {
  const given = text.trim()
  const duration = readDuration(given)
  const time = duration === undefined ? readMoment(given) : Date.now() + duration
  if (time === undefined) {
    throw usageError(
      `${option} must be a time from now on in whole numbers, such as 90d or 12h, a day of the calendar, such as 2027-01-31, or a moment, such as 2027-01-31T12:00:00Z.`,
    )
  }
  if (time >= year10000) throw usageError(`${option} must lie before the year 10000.`)
  return isoTime(time)
}

/** A day is its beginning; seconds may be left out. */
function readMoment(text: string): number | undefined {
  if (/^[\d-]+$/.test(text)) return parseTimeMs(`${text}T00:00:00Z`)
  return parseTimeMs(text.replace(/^(.{11}\d\d:\d\d)(?=[Zz+-])/, '$1:00'))
}

/** Each unit, and from how many milliseconds on a time is told in it. */
const steps: readonly [string, number, number][] = [
  ['y', 31_557_600_000, 315_576_000_000],
  ['d', 86_400_000, 172_800_000],
  ['h', 3_600_000, 7_200_000],
  ['min', 60_000, 120_000],
]

/** How long a time is, in a unit of which there are at least two, years at least ten: `3 d`. */
export function formatDuration(
  milliseconds: number,
  round: (value: number) => number = Math.ceil,
): string {
  const [unit, size] = steps.find(([, , least]) => milliseconds >= least) ?? ['s', 1_000]
  return `${round(milliseconds / size)} ${unit}`
}

/** A moment as a person reads it in a list: `3 d ago`, `in 2 h`. */
export function formatRelative(time: string, now = Date.now()): string {
  const distance = Date.parse(time) - now
  if (Math.abs(distance) < 1_000) return 'now'
  return distance < 0
    ? `${formatDuration(-distance, Math.floor)} ago`
    : `in ${formatDuration(distance)}`
}

/** A moment in full, with how far it is away where a person reads it. */
export function formatTime(time: string, { stdout }: Terminal): string {
  return stdout.isTTY === true ? `${time} (${formatRelative(time)})` : time
}
