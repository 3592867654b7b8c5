import { Button, Group, MultiSelect, SimpleGrid, Text } from '@mantine/core'
import type { Event, JwtKey } from '@pubring/client'
import { withVisibleControls } from '../components/user-text.tsx'
import { SuggestField } from '../forms/suggest-field.tsx'
import { fromExpiryInput, TimeField, toExpiryInput } from '../forms/time-field.tsx'
import { useTyped } from '../forms/typed.ts'
import { type Filter, givenFilters, typesOf } from './filter.ts'
import { typeLabel, typesOfLedger } from './types.ts'

type FiltersProps = {
  /** Whether the history is a project's; otherwise it is the system's. */
  ofProject: boolean
  /** For suggestions, with `keys`. */
  events: Event[]
  keys: JwtKey[]
  filter: Filter
  onChange(part: Partial<Filter>): void
}

/** The fields that filter the whole history, on the server. */
export function Filters({ ofProject, events, keys, filter, onChange }: FiltersProps) {
  const actors = [...new Set(events.map(({ actor }) => actor.name))]
  const names = new Map(
    events.flatMap(({ subject, label }) => (label ? [[subject.id, label]] : [])),
  )
  for (const { id, label } of keys) names.set(id, label)
  const types = [...new Set([...typesOfLedger(ofProject), ...typesOf(filter)])]
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 5 }} spacing="sm">
        <MultiSelect
          label="Events"
          placeholder={filter.type === '' ? 'All events' : ''}
          clearable
          data={types.map((type) => ({ value: type, label: typeLabel(type) }))}
          value={typesOf(filter)}
          onChange={(chosen) => onChange({ type: chosen.join(',') })}
        />
        <TypedFilter
          label="Actor"
          placeholder="Name or id"
          data={actors}
          value={filter.actor}
          onValue={(actor) => onChange({ actor })}
        />
        <TypedFilter
          label={ofProject ? 'Key' : 'Subject'}
          placeholder={ofProject ? 'Choose a key, or enter its kid' : 'Id'}
          data={[...names].map(([id, name]) => optionOf(id, name))}
          value={optionOf(filter.subject, names.get(filter.subject))}
          onValue={(text) => onChange({ subject: subjectIn(text, names) })}
        />
        <TimeField
          label="Since (local time)"
          value={toExpiryInput(filter.since || undefined)}
          onValue={(time) => onChange({ since: fromExpiryInput(time) ?? '' })}
        />
        <TimeField
          label="Until (local time)"
          value={toExpiryInput(filter.until || undefined)}
          onValue={(time) => onChange({ until: fromExpiryInput(time) ?? '' })}
        />
      </SimpleGrid>
      {givenFilters(filter).length > 0 && (
        <Group gap="xs">
          <Text size="sm" c="dimmed">
            The address of this page keeps the filters.
          </Text>
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => onChange({ type: '', actor: '', subject: '', since: '', until: '' })}
          >
            Clear filters
          </Button>
        </Group>
      )}
    </>
  )
}

const optionOf = (id: string, name: string | undefined) =>
  name === undefined ? id : `${withVisibleControls(name)} (${id})`

/** The id in an option or in typed text; of a name, the id of the one subject that has it. */
function subjectIn(text: string, names: Map<string, string>): string {
  const id = /[0-9a-f]{8}-[0-9a-f-]{27}/i.exec(text)?.[0]
  const named = [...names].filter(([, name]) => name === text).map(([each]) => each)
  return id ?? (named.length === 1 ? named.join() : text)
}

/** A field with suggestions that takes effect when the user stops typing. */
function TypedFilter(props: Parameters<typeof SuggestField>[0]) {
  const typed = useTyped({ ...props, onValue: (text) => props.onValue(text.trim()) })
  return <SuggestField {...props} limit={50} {...typed} />
}
