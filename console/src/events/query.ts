import type { Client, Event, EventPosition, EventQuery, Project } from '@pubring/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { useKeys } from '../keys/queries.ts'
import { useApi } from '../session/api.ts'
import { useSession } from '../session/context.tsx'
import { entriesOf } from './expiries.ts'
import { eventQuery, type Filter, givenFilters, readFilter } from './filter.ts'

/** Events that a page has at least, if there are as many. */
const pageSize = 50

/**
 * Requests for one page. The service compares a bounded number of events per request, so rare ones may
 * take several.
 */
const maxRequests = 20

/** The filters in the address of the page, and a function that changes some of them. */
export function useFilter(): [Filter, (part: Partial<Filter>) => void] {
  const [params, setParams] = useSearchParams()
  const filter = readFilter(params)
  const change = (part: Partial<Filter>) =>
    setParams(givenFilters({ ...filter, ...part }), { replace: true })
  return [filter, change]
}

type Page = { items: Event[]; next?: EventPosition }

/** The entries of a history that match the filter, newest first, page by page. */
export function useHistory(project: Project | undefined, filter: Filter) {
  const { client } = useSession()
  const query = useInfiniteQuery({
    queryKey: ['events', project?.id ?? 'system', filter],
    queryFn: ({ signal, pageParam }) => {
      const ofProject = project === undefined ? {} : { project: project.id }
      return readPage(client, { ...eventQuery(filter), ...ofProject, ...pageParam, signal })
    },
    initialPageParam: undefined as EventPosition | undefined,
    getNextPageParam: ({ next }: Page) => next,
    placeholderData: (previous) => previous,
  })
  const { data: keys = [] } = useKeys(project?.id)
  const { data, hasNextPage: hasOlder } = query
  const entries = useMemo(() => {
    const events = data?.pages.flatMap(({ items }) => items) ?? []
    return entriesOf(events, { keys, filter, hasOlder, now: Date.now() })
  }, [data, keys, filter, hasOlder])
  return { query, entries }
}

async function readPage(
  client: Client,
  query: EventQuery & { signal: AbortSignal },
): Promise<Page> {
  const items: Event[] = []
  let next: EventPosition | undefined = {}
  for (let requests = 0; next !== undefined && requests < maxRequests; requests += 1) {
    const options = { ...query, order: 'desc', limit: pageSize, ...next } as const
    const page: Page = await client.events.page(options)
    items.push(...page.items)
    next = items.length < pageSize ? page.next : undefined
    if (next === undefined) return { ...page, items }
  }
  return next === undefined ? { items } : { items, next }
}

/** The newest revision of a ledger: a project's, or the system's. */
export function useNewestRevision(project: Project | undefined): number {
  const { data } = useApi(['events', 'system', 'newest'], newestSystemEvent, {
    enabled: project === undefined,
  })
  return project?.revision ?? data?.revision ?? 0
}

export async function newestSystemEvent(
  client: Client,
  signal: AbortSignal,
): Promise<Event | null> {
  const [newest = null] = await client.events.list({ order: 'desc', limit: 1, signal })
  return newest
}
