import { isPublished, type KeyBar } from './spans.ts'

/** The visible time, in epoch milliseconds. */
export type TimeWindow = { from: number; to: number }

const hour = 3_600_000
const day = 24 * hour

/** The lengths that can be chosen by name. */
export const zoomLevels = [
  { label: '6 hours', ms: 6 * hour },
  { label: 'Day', ms: day },
  { label: 'Week', ms: 7 * day },
  { label: 'Month', ms: 31 * day },
  { label: 'Year', ms: 366 * day },
  { label: '5 years', ms: 5 * 366 * day },
] as const

const shortest = hour
const longest = 20 * 366 * day

export const lengthOf = ({ from, to }: TimeWindow): number => to - from

/** The window moved by a part of its length; negative is earlier. */
export function pan(window: TimeWindow, part: number): TimeWindow {
  const distance = lengthOf(window) * part
  return { from: window.from + distance, to: window.to + distance }
}

/**
 * A window of this length. If `now` is visible it stays where it is in the picture; otherwise the
 * middle stays.
 */
export function resize(window: TimeWindow, ms: number, now: number): TimeWindow {
  const { from, to } = window
  const length = Math.min(Math.max(ms, shortest), longest)
  const fixed = from <= now && now <= to ? now : (from + to) / 2
  const start = fixed - ((fixed - from) / lengthOf(window)) * length
  return { from: start, to: start + length }
}

/** A window with everything that counts: from the registration of published keys to the last expiry. */
export function windowOfAll(bars: KeyBar[], now: number): TimeWindow {
  const times = bars.flatMap(({ spans }) => {
    const last = spans.at(-1)
    return spans.some(({ state, to }) => isPublished(state) && to > now)
      ? [spans[0]?.from ?? now, last?.from ?? now]
      : []
  })
  const [first, last] = [Math.min(now, ...times), Math.max(now, ...times)]
  // Room for what follows, since most bars do not end.
  const margin = Math.max((last - first) * 0.15, hour)
  return {
    from: Math.max(first - margin / 2, now - longest / 2),
    to: Math.min(last + margin, now + longest / 2),
  }
}

const units = [
  ['minute', 60_000, [5, 10, 15, 30]],
  ['hour', hour, [1, 2, 3, 6, 12]],
  ['day', day, [1, 2, 7, 14]],
  ['month', 30.4 * day, [1, 2, 3, 6]],
  ['year', 365.25 * day, [1, 2, 5]],
] as const

type Tick = { time: number; label: string }

/** At most `count` round times in the window, in the local time zone, with labels. */
export function ticks({ from, to }: TimeWindow, count: number): Tick[] {
  const [unit, size] = units
    .flatMap(([name, ms, sizes]) => sizes.map((each) => [name, each, ms * each] as const))
    .find(([, , ms]) => (to - from) / ms <= count) ?? ['year', 5]
  const format = new Intl.DateTimeFormat(undefined, labelFormats[unit])
  const found: Tick[] = []
  for (let time = roundDown(from, unit, size); time <= to; time = step(time, unit, size)) {
    if (time >= from) found.push({ time, label: format.format(time) })
  }
  return found
}

const labelFormats = {
  minute: { hour: '2-digit', minute: '2-digit' },
  hour: { weekday: 'short', hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
  year: { year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>
type Unit = keyof typeof labelFormats

function roundDown(time: number, unit: Unit, size: number): number {
  const at = new Date(time)
  const [year, month, date] = [at.getFullYear(), at.getMonth(), at.getDate()]
  if (unit === 'year') return new Date(year - (year % size), 0).getTime()
  if (unit === 'month') return new Date(year, month - (month % size)).getTime()
  if (unit === 'day') return new Date(year, month, date - (size === 7 ? at.getDay() : 0)).getTime()
  return new Date(year, month, date).getTime()
}

/** By the calendar, because days, months and years differ in length. */
function step(time: number, unit: Unit, size: number): number {
  const at = new Date(time)
  if (unit === 'minute') at.setMinutes(at.getMinutes() + size)
  if (unit === 'hour') at.setHours(at.getHours() + size)
  if (unit === 'day') at.setDate(at.getDate() + size)
  if (unit === 'month') at.setMonth(at.getMonth() + size)
  if (unit === 'year') at.setFullYear(at.getFullYear() + size)
  return at.getTime()
}
