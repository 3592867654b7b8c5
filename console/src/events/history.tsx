import { Button, Card, Group, Stack, Text } from '@mantine/core'
import { type Project, positionOf } from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { CurlHint } from '../components/curl.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { EmptyState, LoadingRows } from '../components/states.tsx'
import { localTime } from '../components/times.tsx'
import { type FollowedLedger, useLedgerEvents } from '../keys/follow.ts'
import { useKeys } from '../keys/queries.ts'
import { useRotations } from '../keys/rotations.ts'
import { Days } from './days.tsx'
import type { Entry } from './expiries.ts'
import { ExportButton } from './export-button.tsx'
import { eventQuery, type Filter, givenFilters } from './filter.ts'
import { Filters } from './filters.tsx'
import { LogPanel, useLogged } from './log-panel.tsx'
import { newestSystemEvent, useFilter, useHistory, useNewestRevision } from './query.ts'

/** The ledger of a project, or of the system without `project`; newest entries first. */
export function History({ project }: { project?: Project }) {
  const [filter, changeFilter] = useFilter()
  const { query, entries } = useHistory(project, filter)
  const newest = useNewestRevision(project)
  const logged = useLogged(project, newest)
  const { data: keys = [] } = useKeys(project?.id)
  const { data: rotations = [] } = useRotations(project?.id)
  const labels = new Map(keys.map(({ id, label }) => [id, label]))
  for (const { id, from } of rotations) labels.set(id, labels.get(from) ?? from)
  const nameOf = (id: string) => labels.get(id)
  useLiveSystemEvents(project === undefined)
  const events = entries.flatMap((entry) => ('event' in entry ? [entry.event] : []))
  const path = project === undefined ? '/events' : `/projects/${project.id}/events`
  const parameters = new URLSearchParams({ ...eventQuery(filter), order: 'desc' })
  return (
    <Stack>
      <LogPanel project={project} newest={newest} logged={logged} />
      <Filters
        ofProject={project !== undefined}
        events={events}
        keys={keys}
        filter={filter}
        onChange={changeFilter}
      />
      {query.isPending && <LoadingRows rows={6} />}
      {query.isLoadingError && (
        <ErrorNotice error={query.error} retry={() => void query.refetch()} />
      )}
      {query.data && (
        <>
          <Group justify="space-between">
            <CountText entries={entries} filter={filter} hasOlder={query.hasNextPage} />
            <ExportButton project={project} filter={filter} />
          </Group>
          <Card withBorder padding="md">
            {entries.length === 0 ? (
              <EmptyState title="No matching events">Change the filters.</EmptyState>
            ) : (
              <Days
                entries={entries}
                loggedUpTo={logged.data?.revision}
                nameOf={nameOf}
                onFilter={changeFilter}
              />
            )}
            {query.hasNextPage && (
              <Group justify="center" mt="md">
                <Button
                  variant="default"
                  loading={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  Load older events
                </Button>
              </Group>
            )}
          </Card>
        </>
      )}
      <CurlHint path={`${path}?${parameters}`} />
    </Stack>
  )
}

function CountText(props: { entries: Entry[]; filter: Filter; hasOlder: boolean }) {
  const { entries, filter, hasOlder } = props
  const { length } = entries
  const oldest = entries.at(-1)
  const found = givenFilters(filter).length > 0 ? 'matching ' : ''
  const noun = length === 1 ? 'entry' : 'entries'
  return (
    <Text size="sm" c="dimmed" role="status">
      {hasOlder
        ? `The newest ${length} ${found}${noun}${oldest ? `, back to ${localTime(oldest.time)}` : ''}`
        : `${length} ${found}${noun}`}
      . Updates automatically. Times are in {timeZone()}.
    </Text>
  )
}

const timeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

const systemLedger: FollowedLedger = {
  async findStart(client, signal) {
    const newest = await newestSystemEvent(client, signal)
    return newest === null ? 0 : positionOf(newest)
  },
}

/** Follows the system's ledger. A project's page follows its own. */
function useLiveSystemEvents(enabled: boolean): void {
  const queries = useQueryClient()
  const onEvent = useCallback(
    () => queries.invalidateQueries({ queryKey: ['events', 'system'] }),
    [queries],
  )
  useLedgerEvents(enabled ? systemLedger : undefined, onEvent)
}
