import { Button, Group, MultiSelect, SimpleGrid, Text } from '@mantine/core'
import type { Event, JwtKey } from '@pubring/client'
import { capitalized } from '../components/capitalized.ts'
import { withVisibleControls } from '../components/user-text.tsx'
import { useProjectNames } from '../forms/project-field.tsx'
import { fieldOf, SuggestField } from '../forms/text-fields.tsx'
import { fromExpiryInput, TimeField, toExpiryInput } from '../forms/time-field.tsx'
import { useTyped } from '../forms/typed.ts'
import { useApi } from '../session/api.ts'
import { nameOfPerson } from './actor.tsx'
import { expiredType, type Filter, givenFilters, noFilter, typesOf } from './filter.ts'
import { typeLabel, typesOfHistory } from './types.ts'

type FiltersProps = {
  /** Whether the history is that of all ledgers; otherwise it is a project's. */
  ofAll: boolean
  /** For suggestions, with `keys`. */
  events: Event[]
  /** Undefined for the keys of more than one project. */
  keys: JwtKey[] | undefined
  filter: Filter
  onChange(part: Partial<Filter>): void
}

/** The fields that filter the whole history, on the server. */
export function Filters({ ofAll, events, keys, filter, onChange }: FiltersProps) {
  const projects = useProjectNames(ofAll)
  const { data: people = [] } = useApi(
    ['people'],
    (client, signal) => client.people.list({ signal }),
    { enabled: ofAll },
  )
  const actors = ofAll ? people.map(nameOfPerson) : events.map(({ actor }) => actor.name)
  const names = new Map(
    events.flatMap(({ subject, label }) => (label ? [[subject.id, label]] : [])),
  )
  for (const { id, label } of keys ?? []) names.set(id, label)
  const who = ofAll ? 'person' : 'actor'
  const offered = typesOfHistory(ofAll).filter((type) => keys || type !== expiredType)
  const types = [...new Set([...offered, ...typesOf(filter)])]
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2, md: ofAll ? 3 : 5 }} spacing="sm">
        <MultiSelect
          label="Events"
          placeholder={filter.type === '' ? 'All events' : ''}
          clearable
          data={types.map((type) => ({ value: type, label: typeLabel(type) }))}
          value={typesOf(filter)}
          onChange={(chosen) => onChange({ type: chosen.join(',') })}
        />
        {ofAll && (
          <TypedFilter
            label="Project"
            placeholder="Name or id"
            data={projects}
            {...fieldOf(filter, onChange, 'project')}
          />
        )}
        <TypedFilter
          label={ofAll ? 'Person' : 'Actor'}
          placeholder={ofAll ? 'Name, email or subject' : 'Name or id'}
          data={[...new Set(actors)]}
          value={filter[who]}
          onValue={(text) => onChange({ [who]: text })}
        />
        <TypedFilter
          label={ofAll ? 'Subject' : 'Key'}
          placeholder={ofAll ? 'Id' : 'Choose a key, or enter its kid'}
          data={[...names].map(([id, name]) => optionOf(id, name))}
          value={optionOf(filter.subject, names.get(filter.subject))}
          onValue={(text) => onChange({ subject: subjectIn(text, names) })}
        />
        {(['since', 'until'] as const).map((end) => (
          <TimeField
            key={end}
            label={`${capitalized(end)} (local time)`}
            value={toExpiryInput(filter[end] || undefined)}
            onValue={(time) => onChange({ [end]: fromExpiryInput(time) ?? '' })}
          />
        ))}
      </SimpleGrid>
      {givenFilters(filter).length > 0 && (
        <Group gap="xs">
          <Text size="sm" c="dimmed">
            {filter.requestId !== '' && `Only the request ${filter.requestId}. `}The address of this
            page keeps the filters.
          </Text>
          <Button variant="subtle" size="compact-sm" onClick={() => onChange(noFilter)}>
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
