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
  const [, digits, unit = ''] = /^(\d{1,6}) ?([smhdw])$/.exec(text.trim()) ?? []
  return digits === undefined ? undefined : Number(digits) * (millisecondsPerUnit[unit] ?? 0)
}

/** Seconds, from `0`, `90s`, `5m` or `1h`. Throws a usage error that names the option. */
export function durationIn(text: string, option: string): number {
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
export function momentIn(text: string, option: string): string {
  const given = text.trim()
  const duration = readDuration(given)
  if (duration !== undefined) return new Date(Date.now() + duration).toISOString()
  const isMoment = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d))?$/
  const time = isMoment.test(given) ? Date.parse(given.replace(' ', 'T')) : Number.NaN
  if (Number.isNaN(time)) {
    throw usageError(
      `${option} must be a time from now on, such as 90d or 12h, a day, or a moment, such as 2027-01-31T12:00:00Z.`,
    )
  }
  return new Date(time).toISOString()
}

const steps: readonly [string, number][] = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** How long a time is, in a unit of which there are at least two: `3 d`. */
export function lengthOf(
  milliseconds: number,
  round: (value: number) => number = Math.ceil,
): string {
  const [unit, size] = steps.find(([, each]) => milliseconds >= 2 * each) ?? ['s', 1_000]
  return `${round(milliseconds / size)} ${unit}`
}

/** A moment as a person reads it in a list: `3 d ago`, `in 2 h`. */
export function relative(time: string, now = Date.now()): string {
  const distance = Date.parse(time) - now
  if (Math.abs(distance) < 1_000) return 'now'
  return distance < 0 ? `${lengthOf(-distance, Math.floor)} ago` : `in ${lengthOf(distance)}`
}

/** A moment in full, with how far it is away where a person reads it. */
export function moment(time: string, { stdout }: Terminal): string {
  return stdout.isTTY === true ? `${time} (${relative(time)})` : time
}
