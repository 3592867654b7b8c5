import type { EventPosition } from '@pubring/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useApi } from '../session/api.ts'
import { useSession } from '../session/context.tsx'

const pageSize = 50

/** The events of a key, newest first, also after it was deleted; `fetchNextPage` loads older ones. */
export function useKeyEvents(projectId: string, kid: string) {
  const { client } = useSession()
  const query = { project: projectId, subject: kid, order: 'desc', limit: pageSize } as const
  return useInfiniteQuery({
    queryKey: ['events', projectId, 'of', kid],
    queryFn: ({ signal, pageParam }) => client.events.page({ ...query, ...pageParam, signal }),
    initialPageParam: {} as EventPosition,
    getNextPageParam: ({ next }) => next,
    // The project itself may be the subject of an id that is no kid.
    select: ({ pages }) =>
      pages.flatMap(({ items }) => items).filter(({ subject }) => subject.type === 'key'),
  })
}

/** The registration of a key; undefined while it is not known. */
export function useKeyRegistration(projectId: string, kid: string) {
  const { data: [first] = [] } = useApi(['events', projectId, 'first of', kid], (client, signal) =>
    client.events.list({ project: projectId, subject: kid, limit: 1, signal }),
  )
  return first?.type === 'key.created' ? first : undefined
}
