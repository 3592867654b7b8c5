import { Button, Card, Group, Stack, Text } from '@mantine/core'
import { useDocumentVisibility } from '@mantine/hooks'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Client, Event, Project } from '../../../client/src/index.ts'
import { CurlHint } from '../components/curl.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { EmptyState, LoadingRows } from '../components/states.tsx'
import { useSession } from '../session/context.tsx'
import { type Filter, Filters, noFilter, passes } from './filters.tsx'
import { headOf, type List, pageBefore } from './paging.ts'
import { labelsOf } from './sentences.ts'
import { TimelineEntry } from './timeline-entry.tsx'

const pageSize = 50

/** A ledger, newest first: a project's, or the system's where `project` is left out. */
export function Timeline({ project }: { project?: Project }) {
  const pages = useEvents(project)
  useLiveSystem(project === undefined)
  if (pages.isPending) return <LoadingRows rows={6} />
  if (pages.isError) return <ErrorNotice error={pages.error} retry={() => void pages.refetch()} />
  const path = project === undefined ? '/events' : `/projects/${project.id}/events`
  return (
    <Stack>
      <Ledger
        events={pages.data.pages.flatMap(({ items }) => items)}
        older={
          pages.hasNextPage
            ? { busy: pages.isFetchingNextPage, show: () => void pages.fetchNextPage() }
            : undefined
        }
      />
      <CurlHint path={path} />
    </Stack>
  )
}

function useEvents(project: Project | undefined) {
  const { client } = useSession()
  return useInfiniteQuery({
    queryKey: ['events', project?.id ?? 'system'],
    queryFn: async ({ signal, pageParam }) => {
      const list = (after: number, limit: number) =>
        client.events.list({ signal, after, limit, ...(project && { project: project.id }) })
      const newest = pageParam ?? (await newestRevision(client, project, list, signal))
      return { items: await pageBefore(list, newest, pageSize), oldest: newest - pageSize }
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ oldest }) => (oldest > 0 ? oldest : undefined),
  })
}

/** A project tells its own: it is its revision. */
async function newestRevision(
  client: Client,
  project: Project | undefined,
  list: List,
  signal: AbortSignal,
): Promise<number> {
  if (project === undefined) return headOf(list)
  return (await client.projects.get(project.id, { signal })).revision
}

/** Events that were read, what is shown of them, and the way to older ones. */
function Ledger(props: { events: Event[]; older: { busy: boolean; show(): void } | undefined }) {
  const { events, older } = props
  const [filter, setFilter] = useState<Filter>(noFilter)
  const labels = labelsOf(events)
  const shown = events.filter((event) => passes(event, filter, labels.get(event.subject.id)))
  return (
    <>
      <Filters events={events} filter={filter} onFilter={setFilter} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          {shown.length === events.length
            ? `${events.length} events${older === undefined ? '' : ', the newest ones'}`
            : `${shown.length} of the ${events.length} events that were read`}
        </Text>
        <Text size="sm" c="dimmed">
          New ones appear by themselves.
        </Text>
      </Group>
      <Card withBorder padding="md">
        {shown.length === 0 ? (
          <EmptyState title="No event fits">
            {older === undefined ? 'Change the filters.' : 'Older events may: show more.'}
          </EmptyState>
        ) : (
          <Days events={shown} labels={labels} />
        )}
        {older !== undefined && (
          <Group justify="center" mt="md">
            <Button variant="default" loading={older.busy} onClick={older.show}>
              Show older events
            </Button>
          </Group>
        )}
      </Card>
    </>
  )
}

/** The events under the days (of the reader's time zone) that they happened on. */
function Days({ events, labels }: { events: Event[]; labels: Map<string, string> }) {
  const days = Map.groupBy(events, ({ time }) =>
    new Date(time).toLocaleDateString(undefined, { dateStyle: 'full' }),
  )
  return [...days].map(([day, ofDay]) => (
    <section key={day} aria-label={day}>
      <Text size="sm" c="dimmed" fw={600} mt="xs">
        {day}
      </Text>
      <ol className="timeline">
        {ofDay.map((event) => (
          <TimelineEntry key={event.revision} event={event} name={labels.get(event.subject.id)} />
        ))}
      </ol>
    </section>
  ))
}

/** A project's page follows its own stream; the system's ledger is followed here, while visible. */
function useLiveSystem(enabled: boolean): void {
  const { client } = useSession()
  const queries = useQueryClient()
  const visible = useDocumentVisibility() === 'visible'
  useEffect(() => {
    if (!enabled || !visible) return
    const controller = new AbortController()
    const { signal } = controller
    async function follow() {
      const after = await headOf((from, limit) =>
        client.events.list({ after: from, limit, signal }),
      )
      for await (const _event of client.events.follow({ after, signal })) {
        await queries.invalidateQueries({ queryKey: ['events', 'system'] })
      }
    }
    // A stream that fails takes nothing away: the list beside it says what is wrong.
    follow().catch(() => {})
    return () => controller.abort()
  }, [client, queries, enabled, visible])
}
