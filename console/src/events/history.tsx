import { Button, Card, Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { Event, Project } from '../../../client/src/index.ts'
import { CurlHint } from '../components/curl.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { EmptyState, LoadingRows } from '../components/states.tsx'
import { useDraft } from '../forms/drafts.ts'
import { useLedgerEvents } from '../keys/follow.ts'
import { useSession } from '../session/context.tsx'
import { Entry } from './entry.tsx'
import { emptyFilter, Filters, matches } from './filters.tsx'
import { LogPanel, useLogged } from './log-panel.tsx'
import { listBackwards, newestRevision } from './paging.ts'
import { subjectNames } from './sentences.ts'

const pageSize = 50

/** The ledger of a project, or of the system without `project`; newest events first. */
export function History({ project }: { project?: Project }) {
  const pages = useEventPages(project)
  useLiveSystemEvents(project === undefined)
  if (pages.isPending) return <LoadingRows rows={6} />
  if (pages.isLoadingError) {
    return <ErrorNotice error={pages.error} retry={() => void pages.refetch()} />
  }
  return (
    <LoadedEvents
      key={project?.id}
      project={project}
      events={pages.data.pages.flatMap(({ items }) => items)}
      older={
        pages.hasNextPage
          ? { loading: pages.isFetchingNextPage, load: () => void pages.fetchNextPage() }
          : undefined
      }
    />
  )
}

type EventList = {
  events: Event[]
  older: { loading: boolean; load(): void } | undefined
}

function LoadedEvents({ project, events, older }: EventList & { project: Project | undefined }) {
  const newest = events[0]?.revision ?? 0
  const logged = useLogged(project, newest)
  const path = project === undefined ? '/events' : `/projects/${project.id}/events`
  return (
    <Stack>
      <LogPanel project={project} newest={newest} logged={logged} />
      <FilteredEvents
        ledger={project?.id ?? 'system'}
        events={events}
        loggedUpTo={logged.data?.revision}
        older={older}
      />
      <CurlHint path={path} />
    </Stack>
  )
}

function useEventPages(project: Project | undefined) {
  const { client } = useSession()
  return useInfiniteQuery({
    queryKey: ['events', project?.id ?? 'system'],
    queryFn: async ({ signal, pageParam }) => {
      const list = (after: number, limit: number) =>
        client.events.list({ signal, after, limit, ...(project && { project: project.id }) })
      const findNewest = async () => {
        if (project === undefined) return newestRevision(list)
        return (await client.projects.get(project.id, { signal })).revision
      }
      const newest = pageParam ?? (await findNewest())
      return { items: await listBackwards(list, newest, pageSize), oldest: newest - pageSize }
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ oldest }) => (oldest > 0 ? oldest : undefined),
  })
}

/** The loaded events that match the filters; `older` loads more, if there are any. */
function FilteredEvents(
  props: EventList & {
    /** Names the draft of the filter. */
    ledger: string
    loggedUpTo: number | undefined
  },
) {
  const { ledger, events, older, loggedUpTo } = props
  const [filter, changeFilter] = useDraft(`filter.${ledger}`, emptyFilter)
  const names = subjectNames(events)
  const shown = events.filter((event) => matches(event, filter, names.get(event.subject.id)))
  return (
    <>
      <Filters events={events} filter={filter} onChange={changeFilter} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {shown.length === events.length
            ? `${events.length} ${older === undefined ? '' : 'newest '}events`
            : `${shown.length} of ${events.length} loaded events`}
        </Text>
        <Text size="sm" c="dimmed">
          Updates automatically
        </Text>
      </Group>
      <Card withBorder padding="md">
        {shown.length === 0 ? (
          <EmptyState title="No matching events">
            {older === undefined ? 'Change the filters.' : 'Load older events to search them too.'}
          </EmptyState>
        ) : (
          <Days events={shown} names={names} loggedUpTo={loggedUpTo} />
        )}
        {older !== undefined && (
          <Group justify="center" mt="md">
            <Button variant="default" loading={older.loading} onClick={older.load}>
              Load older events
            </Button>
          </Group>
        )}
      </Card>
    </>
  )
}

/** The events grouped by day in the local time zone. */
function Days(props: {
  events: Event[]
  names: Map<string, string>
  loggedUpTo: number | undefined
}) {
  const { events, names, loggedUpTo } = props
  const days = Map.groupBy(events, ({ time }) =>
    new Date(time).toLocaleDateString(undefined, { dateStyle: 'full' }),
  )
  return [...days].map(([day, ofDay]) => (
    <section key={day} aria-label={day}>
      <Text size="sm" c="dimmed" fw={600} mt="xs">
        {day}
      </Text>
      <ol className="entries">
        {ofDay.map((event) => (
          <Entry
            key={event.revision}
            event={event}
            name={names.get(event.subject.id)}
            isLogged={loggedUpTo === undefined ? undefined : event.revision <= loggedUpTo}
          />
        ))}
      </ol>
    </section>
  ))
}

/** Follows the system's ledger. A project's page follows its own. */
function useLiveSystemEvents(enabled: boolean): void {
  const { client } = useSession()
  const queries = useQueryClient()
  const onEvent = useCallback(
    () => queries.invalidateQueries({ queryKey: ['events', 'system'] }),
    [queries],
  )
  const ledger = useMemo(() => {
    if (!enabled) return undefined
    const findStart = (signal: AbortSignal) =>
      newestRevision((from, limit) => client.events.list({ after: from, limit, signal }))
    return { findStart }
  }, [client, enabled])
  useLedgerEvents(ledger, onEvent)
}
