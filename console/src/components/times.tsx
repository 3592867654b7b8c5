import { Text, Tooltip } from '@mantine/core'
import { useEffect, useState } from 'react'

/** The present, in ms since the epoch, read again every `every` ms. */
export function useNow(every: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every)
    return () => clearInterval(timer)
  }, [every])
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

/** Such as “3 days ago” or “in 2 hours”; `time` and `now` in ms since the epoch. */
export function relativeTime(time: number, now: number): string {
  const distance = time - now
  const [unit, length] = units.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1_000]
  // Below two months, days say more than “next month”; above, the nearest month is meant.
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

/** A moment relative to now; pointing at it shows it in local time and as ISO 8601. */
export function RelativeTime({ time }: { time: string }) {
  const now = useNow(15_000)
  return (
    <Tooltip label={`${localTime(time)} · ${time}`}>
      <Text component="time" inherit dateTime={time}>
        {relativeTime(Date.parse(time), Math.max(now, Date.now()))}
      </Text>
    </Tooltip>
  )
}
