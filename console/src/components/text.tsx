import { Anchor, type AnchorProps, Text, Tooltip } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { Link } from 'wouter'

/** Characters that reorder the text around them or are invisible (UAX #9, general category Cf). */
const formatControls = /[\u2028\u2029\p{Cf}]/gu

/** Shows what would reorder or hide text as `[U+202E]`. ZWJ and soft hyphens stay: emoji and words have them. */
export function withVisibleControls(text: string): string {
  return text.replace(formatControls, (character) =>
    /[\u00ad\u200c\u200d]|[\u{e0020}-\u{e007f}]/u.test(character)
      ? character
      : `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  )
}

/** Text that a user or another system wrote. It cannot change how the text around it is read. */
export const UserText = ({ children, mono }: { children: string; mono?: boolean }) => (
  <bdi className={mono ? 'mono' : undefined}>{withVisibleControls(children)}</bdi>
)

/** Such as “1 key” and “2,000 keys”. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString()} ${noun}${count === 1 ? '' : 's'}`

/** A name in quotation marks, for plain text such as the title of a dialog. */
export const quoted = (name: string): string => `“${withVisibleControls(name)}”`

export function TextLink(
  props: AnchorProps & { href: string; onClick?(): void; children: ReactNode },
) {
  return <Anchor component={Link} underline="always" inherit {...props} />
}

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
export const localTime = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** Local time with seconds, of a time today. */
export const clockTime = (time: string): string =>
  new Date(time).toLocaleTimeString(undefined, { timeStyle: 'medium' })

/** Local date and time with seconds and the time zone, for details. */
export const exactTime = (time: string | number): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })

const leftUnits = [
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** The time from `now` until then, such as `52 s`. */
export function timeLeft(until: string, now: number): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1_000))
  const [unit, length] = leftUnits.find(([, size]) => seconds >= 2 * size) ?? ['s', 1]
  return `${Math.ceil(seconds / length)} ${unit}`
}

export const useTimeLeft = (until: string): string => timeLeft(until, useNow(1_000))

export function RelativeTime({ time }: { time: string }) {
  const now = useNow(15_000)
  return (
    <TimeText time={time}>{relativeTime(Date.parse(time), Math.max(now, Date.now()))}</TimeText>
  )
}

/** A time in other words, with the exact local time and ISO 8601 as a tooltip. */
export const TimeText = ({ time, children }: { time: string; children: string }) => (
  <Tooltip label={`${exactTime(time)} · ${time}`}>
    <Text component="time" inherit dateTime={time}>
      {children}
    </Text>
  </Tooltip>
)

export const week = 7 * 86_400_000

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

/** The end of an id, which is random: ids of one minute begin alike (RFC 9562 section 5.7). */
export const endOf = (id: string): string => `…${id.slice(-6)}`

/**
 * Names the controls of each row, with the end of its id where other rows have its name, and with visible
 * control characters.
 */
export function rowNames<Row extends { id: string }>(
  rows: readonly Row[],
  textOf: (row: Row) => string,
): (row: Row) => string {
  const nameOf = (row: Row) => withVisibleControls(textOf(row))
  const byName = Map.groupBy(rows, nameOf)
  return (row) => {
    const name = nameOf(row)
    return (byName.get(name)?.length ?? 0) > 1 ? `${name} ${endOf(row.id)}` : name
  }
}
