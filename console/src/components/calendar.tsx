import { Table, Text } from '@mantine/core'
import type { CSSProperties, ReactNode } from 'react'
import { toExpiryInput } from '../forms/time-field.tsx'
import { week } from './text.tsx'

/** The local day of a time, as 2026-12-24. */
export const dayOf = (time: string | number | Date): string =>
  toExpiryInput(new Date(time).toISOString()).slice(0, 10)

/** A part of a list below a `Calendar`, to which its day leads. */
export function DaySection({ time, children }: { time: string; children: ReactNode }) {
  const name = inWords(new Date(time), { dateStyle: 'full' })
  return (
    <section className="day" id={`day-${dayOf(time)}`} aria-label={name} tabIndex={-1}>
      <Text c="dimmed" fw={600} mt="xs">
        {name}
      </Text>
      {children}
    </section>
  )
}

/** How many times are on each day, in weeks; a day with some leads to its `DaySection`. */
export function Calendar(props: { name: string; times: string[]; from: Date; to: Date }) {
  const { name, times, from, to } = props
  const counts = Map.groupBy(times, dayOf)
  const most = Math.max(...[...counts.values()].map(({ length }) => length))
  const start = from.getDate() - ((from.getDay() + 6) % 7)
  const dayAt = (index: number) => new Date(from.getFullYear(), from.getMonth(), start + index)
  const weeks = Math.floor((Number(to) - Number(dayAt(0))) / week) + 1
  const rows = Array.from({ length: weeks }, (_, row) =>
    Array.from({ length: 7 }, (_each, day) => dayAt(7 * row + day)),
  )
  return (
    <Table className="calendar" aria-label={name}>
      <Table.Thead>
        <Table.Tr>
          {rows[0]?.map((day) => (
            <Table.Th key={day.getDay()}>{inWords(day, { weekday: 'short' })}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((days) => (
          <Table.Tr key={String(days[0])}>
            {days.map((day) => (
              <Day key={dayOf(day)} day={day} count={counts.get(dayOf(day))?.length} most={most} />
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Day({ day, count, most }: { day: Date; count: number | undefined; most: number }) {
  const isToday = dayOf(day) === dayOf(Date.now())
  const isNamed = day.getDay() === 1 || day.getDate() === 1
  const share = { '--share': (count ?? 0) / most } as CSSProperties
  return (
    <Table.Td {...(isToday && { 'aria-current': 'date' })}>
      {inWords(day, { day: 'numeric', ...(isNamed && { month: 'short' }) })}
      {count !== undefined && (
        <button
          type="button"
          aria-label={`${count} on ${inWords(day, { dateStyle: 'full' })}`}
          style={share}
          onClick={() => document.getElementById(`day-${dayOf(day)}`)?.focus()}
        >
          {count}
        </button>
      )}
    </Table.Td>
  )
}

const inWords = (day: Date, format: Intl.DateTimeFormatOptions) =>
  day.toLocaleDateString(undefined, format)
