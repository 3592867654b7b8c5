import { isPublished, type KeyBar } from './spans.ts'

/** The visible time, in epoch milliseconds. */
export type TimeWindow = { from: number; to: number }

const hour = 3_600_000
const day = 24 * hour

const shortest = hour
const longest = 20 * 366 * day

export const lengthOf = ({ from, to }: TimeWindow): number => to - from

/** The window moved by a part of its length; negative is earlier. */
export function pan(window: TimeWindow, part: number): TimeWindow {
  const distance = lengthOf(window) * part
  return { from: window.from + distance, to: window.to + distance }
}

/** A window of this length: `now` stays where it is if it is visible, otherwise the middle. */
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

const clock = { hour: '2-digit', minute: '2-digit' } as const

/** The units of ticks from the smallest, how many of it may lie between two ticks, and their labels. */
const units: { ms: number; sizes: number[]; format: Intl.DateTimeFormatOptions }[] = [
  { ms: 60_000, sizes: [5, 10, 15, 30], format: clock },
  { ms: hour, sizes: [1, 2, 3, 6, 12], format: { weekday: 'short', ...clock } },
  { ms: day, sizes: [1, 2, 7, 14], format: { day: 'numeric', month: 'short' } },
  { ms: 30.4 * day, sizes: [1, 2, 3, 6], format: { month: 'short', year: 'numeric' } },
  { ms: 365.25 * day, sizes: [1, 2, 5], format: { year: 'numeric' } },
]

/** At most `count` round times in the window, by the calendar of the local time zone, with labels. */
export function ticks({ from, to }: TimeWindow, count: number): { time: number; label: string }[] {
  const [place = 0, size = 5, format = {}] =
    units
      .flatMap(({ ms, sizes, format }, unit) => sizes.map((size) => ({ ms, unit, size, format })))
      .filter(({ ms, size }) => (to - from) / (ms * size) <= count)
      .map(({ unit, size, format }) => [4 - unit, size, format] as const)[0] ?? []
  const first = new Date(from)
  const parts = [first.getFullYear(), first.getMonth(), first.getDate(), first.getHours()]
  const found: number[] = []
  for (let steps = 0; (found.at(-1) ?? 0) <= to; steps += 1) {
    const [year = 0, month = 0, date = 1, hours = 0, minutes = 0] = parts
      .slice(0, place)
      .concat((parts[place] ?? 0) - ((parts[place] ?? 0) % size) + steps * size)
    found.push(new Date(year, month, date, hours, minutes).getTime())
  }
  const { format: write } = new Intl.DateTimeFormat(undefined, format)
  return found
    .filter((time) => from <= time && time <= to)
    .map((time) => ({ time, label: write(time) }))
}
