import { Select, SimpleGrid, TextInput } from '@mantine/core'
import type { Event } from '../../../client/src/index.ts'
import { typeLabel } from './sentences.ts'

/** An empty string or null matches every event. `since` and `until` are local times as typed. */
export type Filter = {
  type: string | null
  actor: string | null
  text: string
  since: string
  until: string
}

export const emptyFilter: Filter = { type: null, actor: null, text: '', since: '', until: '' }

/** Whether an event passes the filter; `name` is its subject's. */
export function matches(event: Event, filter: Filter, name: string | undefined): boolean {
  const { type, actor, since, until } = filter
  const time = Date.parse(event.time)
  if (type !== null && event.type !== type) return false
  if (actor !== null && event.actor.name !== actor) return false
  if (since !== '' && time < new Date(since).getTime()) return false
  if (until !== '' && time > new Date(until).getTime()) return false
  const text = JSON.stringify([name ?? '', event.subject, event.changes ?? {}, event.requestId])
  return text.toLowerCase().includes(filter.text.trim().toLowerCase())
}

/** The filter fields, with the types and actors of `events` to choose from. */
export function Filters(props: {
  events: Event[]
  filter: Filter
  onFilter(filter: Filter): void
}) {
  const { events, filter, onFilter } = props
  const types = [...new Set(events.map(({ type }) => type))]
  const actors = [...new Set(events.map(({ actor }) => actor.name))]
  const change = (part: Partial<Filter>) => onFilter({ ...filter, ...part })
  const textProps = (member: 'text' | 'since' | 'until') => ({
    value: filter[member],
    onChange: (event: { currentTarget: { value: string } }) =>
      change({ [member]: event.currentTarget.value }),
  })
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing="sm">
      <Select
        label="Event"
        placeholder="All events"
        clearable
        data={types.map((type) => ({ value: type, label: typeLabel(type) }))}
        value={filter.type}
        onChange={(type) => change({ type })}
      />
      <Select
        label="Actor"
        placeholder="All actors"
        clearable
        data={actors}
        value={filter.actor}
        onChange={(actor) => change({ actor })}
      />
      <TextInput label="Search" placeholder="Name, kid, request id…" {...textProps('text')} />
      <TextInput label="Since" type="datetime-local" {...textProps('since')} />
      <TextInput label="Until" type="datetime-local" {...textProps('until')} />
    </SimpleGrid>
  )
}
