import { Select, SimpleGrid } from '@mantine/core'
import type { Event } from '../../../client/src/index.ts'
import { TextField } from '../forms/text-fields.tsx'
import { TimeField } from '../forms/time-field.tsx'
import { typeLabel } from './sentences.ts'

/** An empty string matches every event. `since` and `until` are local times as typed. */
export type Filter = {
  type: string
  actor: string
  text: string
  since: string
  until: string
}

export const emptyFilter: Filter = { type: '', actor: '', text: '', since: '', until: '' }

/** Whether an event passes the filter; `name` is its subject's. */
export function matches(event: Event, filter: Filter, name: string | undefined): boolean {
  const { type, actor, since, until } = filter
  const time = Date.parse(event.time)
  if (type !== '' && event.type !== type) return false
  if (actor !== '' && event.actor.name !== actor) return false
  if (since !== '' && time < new Date(since).getTime()) return false
  if (until !== '' && time > new Date(until).getTime()) return false
  const text = JSON.stringify([name ?? '', event.subject, event.changes ?? {}, event.requestId])
  return text.toLowerCase().includes(filter.text.trim().toLowerCase())
}

/** The filter fields, with the types and actors of `events` to choose from. */
export function Filters(props: {
  events: Event[]
  filter: Filter
  onChange(part: Partial<Filter>): void
}) {
  const { events, filter, onChange } = props
  const types = [...new Set(events.map(({ type }) => type))]
  const actors = [...new Set(events.map(({ actor }) => actor.name))]
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing="sm">
      <Select
        label="Event"
        placeholder="All events"
        clearable
        data={types.map((type) => ({ value: type, label: typeLabel(type) }))}
        value={filter.type === '' ? null : filter.type}
        onChange={(type) => onChange({ type: type ?? '' })}
      />
      <Select
        label="Actor"
        placeholder="All actors"
        clearable
        data={actors}
        value={filter.actor === '' ? null : filter.actor}
        onChange={(actor) => onChange({ actor: actor ?? '' })}
      />
      <TextField
        label="Search"
        placeholder="Name, kid, request id…"
        value={filter.text}
        onValue={(text) => onChange({ text })}
      />
      <TimeField label="Since" value={filter.since} onValue={(since) => onChange({ since })} />
      <TimeField label="Until" value={filter.until} onValue={(until) => onChange({ until })} />
    </SimpleGrid>
  )
}
