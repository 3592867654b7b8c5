import { Select, SimpleGrid, TextInput } from '@mantine/core'
import type { Event } from '../../../client/src/index.ts'
import { typeWords } from './sentences.ts'

/** What is shown; empty and null let everything pass. The times are local, as they are typed. */
export type Filter = {
  type: string | null
  actor: string | null
  text: string
  since: string
  until: string
}

export const noFilter: Filter = { type: null, actor: null, text: '', since: '', until: '' }

/** Whether an event is shown; `name` is what its subject is called. */
export function passes(event: Event, filter: Filter, name: string | undefined): boolean {
  const { type, actor, since, until } = filter
  const time = Date.parse(event.time)
  if (type !== null && event.type !== type) return false
  if (actor !== null && event.actor.name !== actor) return false
  if (since !== '' && time < new Date(since).getTime()) return false
  if (until !== '' && time > new Date(until).getTime()) return false
  const words = JSON.stringify([name ?? '', event.subject, event.changes ?? {}, event.requestId])
  return words.toLowerCase().includes(filter.text.trim().toLowerCase())
}

/** Narrows what is shown of `events`. */
export function Filters(props: {
  events: Event[]
  filter: Filter
  onFilter(filter: Filter): void
}) {
  const { events, filter, onFilter } = props
  const found = [...new Set(events.map(({ type }) => type))]
  const actors = [...new Set(events.map(({ actor }) => actor.name))]
  const change = (part: Partial<Filter>) => onFilter({ ...filter, ...part })
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing="sm">
      <Select
        label="What"
        placeholder="All events"
        clearable
        data={found.map((type) => ({ value: type, label: typeWords(type) }))}
        value={filter.type}
        onChange={(type) => change({ type })}
      />
      <Select
        label="Who"
        placeholder="Everyone"
        clearable
        data={actors}
        value={filter.actor}
        onChange={(actor) => change({ actor })}
      />
      <TextInput
        label="Name or id"
        placeholder="label, kid, request…"
        value={filter.text}
        onChange={(event) => change({ text: event.currentTarget.value })}
      />
      <TextInput
        label="Since"
        type="datetime-local"
        value={filter.since}
        onChange={(event) => change({ since: event.currentTarget.value })}
      />
      <TextInput
        label="Until"
        type="datetime-local"
        value={filter.until}
        onChange={(event) => change({ until: event.currentTarget.value })}
      />
    </SimpleGrid>
  )
}
