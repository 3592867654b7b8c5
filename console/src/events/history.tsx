import { Card, Stack, Text } from '@mantine/core'
import { type Project, positionOf } from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { Calendar } from '../components/calendar.tsx'
import { CurlHint } from '../components/curl.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { LoadingRows, PageHeader } from '../components/states.tsx'
import { localTime, week } from '../components/times.tsx'
import { type FollowedLedger, useLedgerEvents } from '../keys/follow.ts'
import { useKeys, useProject } from '../keys/queries.ts'
import { Days } from './days.tsx'
import type { Entry } from './expiries.ts'
import { eventQuery, type Filter, givenFilters, historyQuery } from './filter.ts'
import { Filters } from './filters.tsx'
import { LogPanel, useLogged } from './log-panel.tsx'
import { newestEvent, useFilter, useHistory, useNames, useNewestRevision } from './query.ts'

/** The history of a project or, without one, of all ledgers; newest entries first. */
export function History({ project }: { project?: Project }) {
  const [filter, changeFilter] = useFilter()
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
  const path = ofAll
    ? `/history?${new URLSearchParams({ ...historyQuery(filter) })}`
    : `/projects/${project.id}/events?${new URLSearchParams({ ...eventQuery(filter), order: 'desc' })}`
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
      {query.isPending && <LoadingRows rows={6} />}
      {query.isLoadingError && (
        <ErrorNotice error={query.error} retry={() => void query.refetch()} />
      )}
      {query.data && (
        <>
          <CountText entries={entries} filter={filter} hasOlder={query.hasNextPage} ofAll={ofAll} />
          <Card withBorder padding="md">
            <EventCalendar entries={entries} hasOlder={query.hasNextPage} />
            <Days
              query={query}
              entries={entries}
              isFiltered={givenFilters(filter).length > 0}
              ofAll={ofAll}
              isLogged={({ projectId = project?.id, revision }) =>
                projectId === ledger?.id && logged.data
                  ? revision <= logged.data.revision
                  : undefined
              }
              nameOf={nameOf}
              onFilter={changeFilter}
            />
          </Card>
        </>
      )}
      <CurlHint path={path} />
    </Stack>
  )
}

/** The entries per day, in the last weeks of those that are loaded. */
function EventCalendar({ entries, hasOlder }: { entries: Entry[]; hasOlder: boolean }) {
  const times = entries.map(({ time }) => time)
  if (times.length === 0) return null
  const to = Date.parse(times[0] ?? '')
  const from = Math.max(Date.parse(times.at(-1) ?? ''), to - 4 * week)
  return (
    <>
      <Calendar name="Entries per day" times={times} from={new Date(from)} to={new Date(to)} />
      {hasOlder && (
        <Text size="sm" c="dimmed" mt="xs">
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
    <Text size="sm" c="dimmed" role="status">
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

/** The history of all ledgers. */
export function HistoryPage() {
  return (
    <>
      <PageHeader title="History">
        Who changed what, and when: in all projects, and in who has access to them.
      </PageHeader>
      <History />
    </>
  )
}
