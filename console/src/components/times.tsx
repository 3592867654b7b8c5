import { Text, Tooltip } from '@mantine/core'
import { useEffect, useState } from 'react'

/** The current epoch time in milliseconds, updated every `intervalMs`. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs)
    return () => clearInterval(timer)
  }, [intervalMs])
  return now
}

const units = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** A phrase such as “3 days ago” or “in 2 hours”, from epoch milliseconds. */
export function relativeTime(time: number, now: number): string {
  const distance = time - now
  const [unit, length] = units.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1_000]
  // Up to two months, days are more precise than “next month”; beyond, months are rounded.
  if (unit === 'month' && Math.abs(distance) < 2 * length) {
    return relative.format(Math.trunc(distance / 86_400_000), 'day')
  }
  const long = unit === 'month' || unit === 'year'
  return relative.format((long ? Math.round : Math.trunc)(distance / length), unit)
}

/** Local date and time, to the minute. */
export function localTime(time: string | number): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
}

/** Local time with seconds, of a time today. */
export const clockTime = (time: string): string =>
  new Date(time).toLocaleTimeString(undefined, { timeStyle: 'medium' })

/** Local date and time with seconds and the time zone, for details. */
export function exactTime(time: string | number): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })
}

/** A time relative to now, with the exact local time and ISO 8601 as a tooltip. */
export function RelativeTime({ time }: { time: string }) {
  const now = useNow(15_000)
  return (
    <Tooltip label={`${exactTime(time)} · ${time}`}>
      <Text component="time" inherit dateTime={time}>
        {relativeTime(Date.parse(time), Math.max(now, Date.now()))}
      </Text>
    </Tooltip>
  )
}

/** The time that is called soon, in milliseconds. */
export const week = 7 * 86_400_000

/** Whether the time is within the next week. */
export function isSoon(time: string): boolean {
  const distance = Date.parse(time) - Date.now()
  return distance > 0 && distance < week
}

/** The relative time, marked if something breaks then within a week, or “never”. */
export function OptionalTime(props: { time: string | undefined; breaks?: boolean }) {
  const { time, breaks = false } = props
  const isMarked = breaks && time !== undefined && isSoon(time)
  const look = isMarked ? { className: 'warning', fw: 600 } : time ? {} : { c: 'dimmed' }
  return (
    <Text component="span" inherit {...look}>
      {time === undefined ? 'never' : <RelativeTime time={time} />}
    </Text>
  )
}
