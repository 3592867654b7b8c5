import { Button, Card, Group, MultiSelect, SimpleGrid, Stack, Text } from '@mantine/core'
import { type Event, type JwtKey, type Project, positionOf } from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { Calendar } from '../components/calendar.tsx'
import { capitalized } from '../components/capitalized.ts'
import { CurlHint } from '../components/curl.tsx'
import { PageHeader, QueryResult } from '../components/states.tsx'
import { localTime, week, withVisibleControls } from '../components/text.tsx'
import { useProjectNames } from '../forms/project-field.tsx'
import { fieldOf, SuggestField } from '../forms/text-fields.tsx'
import { fromExpiryInput, TimeField, TimePresets, toExpiryInput } from '../forms/time-field.tsx'
import { usePageQuery, useTyped } from '../fragment.ts'
import { type FollowedLedger, useLedgerEvents } from '../keys/live.ts'
import { useKeys, useProject } from '../keys/queries.ts'
import { useApi } from '../session/session.tsx'
import { nameOfPerson } from './actor.tsx'
import { Days } from './entry.tsx'
import {
  type Entry,
  eventQuery,
  expiredType,
  type Filter,
  filterNames,
  givenFilters,
  historyQuery,
  noFilter,
  typesOf,
} from './filter.ts'
import { LogPanel, useLogged } from './log-panel.tsx'
import { newestEvent, useHistory, useNames, useNewestRevision } from './query.ts'
import { typeLabel, typesOfHistory } from './types.ts'

/** The history of a project or, without one, of all ledgers; newest entries first. */
export function History({ project }: { project?: Project }) {
  const [filter, changeFilter] = usePageQuery(filterNames)
  const ofAll = project === undefined
  const chosen = useProject((ofAll && filter.project) || undefined)
  const ledger = project ?? chosen.data
  const { data: keys } = useKeys(ledger?.id)
  const { query, entries } = useHistory(project, filter, keys)
  const newest = useNewestRevision(ledger)
  const logged = useLogged(ledger, newest)
  const nameOf = useNames(ledger?.id, entries)
  useLiveHistory(ofAll, ledger?.id)
  const events = entries.flatMap((entry) => ('event' in entry ? [entry.event] : []))
  return (
    <Stack>
      {(ledger !== undefined || filter.project === '') && (
        <LogPanel
          key={ledger?.id}
          project={ledger}
          newest={newest}
          logged={logged}
          events={{ project, filter }}
        />
      )}
      <Filters ofAll={ofAll} events={events} keys={keys} filter={filter} onChange={changeFilter} />
      <QueryResult query={query} rows={6}>
        {() => (
          <>
            <CountText
              entries={entries}
              filter={filter}
              hasOlder={query.hasNextPage}
              ofAll={ofAll}
            />
            <Card withBorder padding="md">
              <EventCalendar entries={entries} hasOlder={query.hasNextPage} />
              <Days
                query={query}
                entries={entries}
                ofAll={ofAll}
                nameOf={nameOf}
                isFiltered={givenFilters(filter).length > 0}
                isLogged={({ projectId = project?.id, revision }) =>
                  projectId === ledger?.id && logged.data
                    ? revision <= logged.data.revision
                    : undefined
                }
                onFilter={changeFilter}
              />
            </Card>
          </>
        )}
      </QueryResult>
      <CurlHint
        send={({ events: api }) =>
          ofAll
            ? api.history(historyQuery(filter))
            : api.list({ ...eventQuery(filter), order: 'desc', project: project.id })
        }
      />
    </Stack>
  )
}

function EventCalendar({ entries, hasOlder }: { entries: Entry[]; hasOlder: boolean }) {
  const times = entries.map(({ time }) => time)
  if (times.length === 0) return null
  const to = Date.parse(times[0] ?? '')
  const from = Math.max(Date.parse(times.at(-1) ?? ''), to - 4 * week)
  return (
    <>
      <Calendar name="Entries per day" times={times} from={new Date(from)} to={new Date(to)} />
      {hasOlder && (
        <Text c="dimmed" mt="xs">
          Older entries are not counted until they are loaded.
        </Text>
      )}
    </>
  )
}

function CountText(props: { entries: Entry[]; filter: Filter; hasOlder: boolean; ofAll: boolean }) {
  const { entries, filter, hasOlder, ofAll } = props
  const { length } = entries
  const oldest = entries.at(-1)
  const found = givenFilters(filter).length > 0 ? 'matching ' : ''
  const noun = length === 1 ? 'entry' : 'entries'
  return (
    <Text c="dimmed" role="status">
      {hasOlder
        ? `The newest ${length} ${found}${noun}${oldest ? `, back to ${localTime(oldest.time)}` : ''}`
        : `${length} ${found}${noun}`}
      .{' '}
      {ofAll && filter.project === ''
        ? 'Changes to projects and access appear by themselves; load the page again for those to keys.'
        : 'Updates automatically.'}{' '}
      Times are in {timeZone()}.
    </Text>
  )
}

const timeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

/** Follows the chosen ledger in the history of all. A project's page follows its own. */
function useLiveHistory(enabled: boolean, project: string | undefined): void {
  const queries = useQueryClient()
  const onEvent = useCallback(async () => {
    await queries.invalidateQueries({ queryKey: ['project'] })
    await queries.invalidateQueries({ queryKey: ['events'] })
  }, [queries])
  const ledger = useMemo((): FollowedLedger => {
    const scope = project === undefined ? {} : { project }
    const findStart: FollowedLedger['findStart'] = async (client, signal) => {
      const newest = await newestEvent(client, { ...scope, signal })
      return newest === null ? 0 : positionOf(newest)
    }
    return { ...scope, findStart }
  }, [project])
  useLedgerEvents(enabled ? ledger : undefined, onEvent)
}

export const HistoryPage = () => (
  <>
    <PageHeader title="History">
      Who changed what, and when: in all projects, and in who has access to them.
    </PageHeader>
    <History />
  </>
)

type FiltersProps = {
  ofAll: boolean
  /** For suggestions, with `keys`. */
  events: Event[]
  /** Undefined for the keys of more than one project. */
  keys: JwtKey[] | undefined
  filter: Filter
  onChange(part: Partial<Filter>): void
}

function Filters({ ofAll, events, keys, filter, onChange }: FiltersProps) {
  const projects = useProjectNames(ofAll)
  const { data: people = [] } = useApi(
    ['people'],
    ofAll && ((client, signal) => client.people.list({ signal })),
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
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
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
        {(['from', 'to'] as const).map((end) => (
          <TimeField
            key={end}
            label={`${capitalized(end)} (local time)`}
            value={toExpiryInput(filter[end] || undefined)}
            onValue={(time) => onChange({ [end]: fromExpiryInput(time) ?? '' })}
          />
        ))}
      </SimpleGrid>
      <TimePresets
        name="Time"
        presets={periods.map(({ label, from, to }) => ({
          label,
          choose: () => onChange({ from: midnight(from), to: midnight(to) }),
        }))}
      />
      {givenFilters(filter).length > 0 && (
        <Group gap="xs">
          <Text c="dimmed">
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

/** Periods of whole days, from and until so many days before today; without `to`, until now. */
const periods: { label: string; from: number; to?: number }[] = [
  { label: 'Today', from: 0 },
  { label: 'Yesterday', from: 1, to: 0 },
  { label: 'Last 7 days', from: 7 },
  { label: 'Last 30 days', from: 30 },
]

function midnight(daysAgo: number | undefined): string {
  if (daysAgo === undefined) return ''
  const now = new Date()
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).toISOString()
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
