import type { Client, Event, EventPosition, HistoryEvent, JwtKey, Project } from '@pubring/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { endOf } from '../components/text.tsx'
import { useKeys } from '../keys/queries.ts'
import { useRotations } from '../keys/rotations.ts'
import { useApi, useSession } from '../session/session.tsx'
import { type Entry, entriesOf, eventQuery, type Filter, historyQuery } from './filter.ts'
import type { NameOf } from './sentences.ts'

const pageSize = 50

/** Requests for one page: the service compares few events per request, and some are rare. */
const maxRequests = 20

type HistoryPage = { items: HistoryEvent[]; next?: EventPosition }

/**
 * The entries that match the filter, newest first, page by page: of a project or, without one, of all
 * ledgers. `keys` are those of the only project that is shown.
 */
export function useHistory(
  project: Project | undefined,
  filter: Filter,
  keys: JwtKey[] | undefined,
) {
  const { client } = useSession()
  const query = useInfiniteQuery({
    queryKey: ['events', project?.id ?? 'all', filter],
    async queryFn({ signal, pageParam }): Promise<HistoryPage> {
      const items: HistoryEvent[] = []
      let next: EventPosition | undefined = pageParam
      for (
        let requests = 0;
        next && items.length < pageSize && requests < maxRequests;
        requests += 1
      ) {
        const page = await readPage({ client, project, filter, signal }, next, pageSize)
        items.push(...page.items)
        next = page.next
      }
      return { items, ...(next && { next }) }
    },
    initialPageParam: {} as EventPosition,
    getNextPageParam: ({ next }) => next,
    placeholderData: (previous) => previous,
  })
  const { data, hasNextPage: hasOlder } = query
  const entries = useMemo(() => {
    const events = data?.pages.flatMap(({ items }) => items) ?? []
    return entriesOf(events, { keys, filter, hasOlder, now: Date.now() })
  }, [data, keys, filter, hasOlder])
  return { query, entries }
}

type Source = { client: Client; project: Project | undefined; filter: Filter; signal: AbortSignal }

async function readPage(
  { client, project, filter, signal }: Source,
  position: EventPosition,
  limit: number,
): Promise<HistoryPage> {
  if (project !== undefined) {
    const page = { ...position, limit, order: 'desc', signal } as const
    return client.events.page({ ...eventQuery(filter), ...page, project: project.id })
  }
  const start = position.after && { after: String(position.after) }
  const query = { ...historyQuery(filter), ...start, limit, signal }
  const { items, next } = await client.events.history(query)
  return { items, ...(next && { next: { after: next } }) }
}

export async function* matchingEvents(source: Source): AsyncGenerator<HistoryEvent[]> {
  let next: EventPosition | undefined = {}
  while (next !== undefined) {
    const page: HistoryPage = await readPage(source, next, 200)
    yield page.items
    next = page.next
  }
}

/** Names the keys of a project and of events by id, and rotations by the keys that they replace. */
export function useNames(projectId: string | undefined, entries: Entry[]): NameOf {
  const { data: keys = [] } = useKeys(projectId)
  const { data: rotations = [] } = useRotations(projectId)
  const events = entries.flatMap((entry) => ('event' in entry ? [entry.event] : []))
  const told = events.flatMap(({ subject, label }) => (label ? [[subject.id, label] as const] : []))
  const labels = new Map([...told, ...keys.map(({ id, label }) => [id, label] as const)])
  const starts = events.flatMap(({ type, subject: { id }, changes }) =>
    type === 'rotation.started' ? [{ id, from: String(changes?.from?.to) }] : [],
  )
  for (const { id, from } of [...starts, ...rotations])
    labels.set(id, labels.get(from) ?? endOf(from))
  return (id) => labels.get(id)
}

export function useNewestRevision(project: Project | undefined): number {
  const query = ['events', 'system', 'newest']
  const { data } = useApi(
    query,
    project === undefined && ((client, signal) => newestEvent(client, { signal })),
  )
  return project?.revision ?? data?.revision ?? 0
}

export async function newestEvent(
  client: Client,
  ledger: { project?: string; signal: AbortSignal },
): Promise<Event | null> {
  const [newest = null] = await client.events.list({ ...ledger, order: 'desc', limit: 1 })
  return newest
}
