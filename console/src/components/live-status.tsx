import { Button } from '@mantine/core'
import { useNetwork } from '@mantine/hooks'
import { type Query, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useSyncExternalStore } from 'react'
import { useConnection } from '../session/session.tsx'
import { isOutage } from './outage.ts'
import { Notice } from './states.tsx'

const heartbeat = ['heartbeat']
const heartbeatMs = 5_000
const retryMs = 2_000

/** Whether the query has data that it could not refresh. */
const isOutdated = ({ state }: Query) =>
  state.status === 'error' && state.data !== undefined && isOutage(state.error)

/** Says since when the page is not live, and tries again. Nothing else on the page changes. */
export function LiveStatus() {
  const { online } = useNetwork()
  const { reachable, retry } = useHeartbeat()
  const since = useOutdatedSince()
  if (online && since === undefined) return null
  return (
    <Notice
      tone="warning"
      mb="md"
      role="status"
      title={`Not live since ${new Date(since ?? Date.now()).toLocaleTimeString()}`}
    >
      {reasonOf(online, reachable)} The page shows what was known then, and keeps what you type. It
      tries again every few seconds.
      <br />
      <Button size="xs" variant="default" mt="xs" onClick={retry}>
        Try now
      </Button>
    </Notice>
  )
}

function reasonOf(online: boolean, reachable: boolean): string {
  if (!online) return 'You are offline.'
  return reachable ? 'The service could not answer.' : 'The service cannot be reached.'
}

/**
 * Contacts the service every few seconds. Whenever it responds, what could not be refreshed is
 * requested again; after an outage, everything, because events may have been missed.
 */
function useHeartbeat() {
  const { client } = useConnection()
  const queries = useQueryClient()
  const { data, isError, refetch } = useQuery({
    queryKey: heartbeat,
    queryFn: async ({ signal }) => {
      // Public, because it must not keep an unattended session alive.
      await client.sessions.options({ signal })
      return Date.now()
    },
    initialData: () => Date.now(),
    refetchInterval: ({ state }) => (state.status === 'error' ? retryMs : heartbeatMs),
  })
  useEffect(() => {
    if (data > 0) void queries.refetchQueries({ predicate: isOutdated, type: 'active' })
  }, [queries, data])
  useEffect(() => {
    if (isError) return () => void queries.invalidateQueries()
  }, [queries, isError])
  return { reachable: !isError, retry: () => void refetch() }
}

/** When the oldest outdated data of the page was current, in epoch milliseconds. */
function useOutdatedSince(): number | undefined {
  const cache = useQueryClient().getQueryCache()
  const subscribe = useCallback((onChange: () => void) => cache.subscribe(onChange), [cache])
  const oldest = useSyncExternalStore(subscribe, () => {
    const outdated = cache.findAll({ type: 'active', predicate: isOutdated })
    return Math.min(...outdated.map(({ state }) => state.dataUpdatedAt))
  })
  return oldest === Number.POSITIVE_INFINITY ? undefined : oldest
}
