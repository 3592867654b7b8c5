import type { Client } from '@pubring/client'
import {
  type QueryKey,
  type UseQueryOptions,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useConnection } from './context.tsx'

/** Reads from the service, under a key by which it is read again. */
export function useApi<Data>(
  queryKey: QueryKey,
  read: (client: Client, signal: AbortSignal) => Promise<Data>,
  options: Pick<UseQueryOptions<Data>, 'enabled' | 'staleTime' | 'gcTime' | 'refetchInterval'> = {},
) {
  const { client } = useConnection()
  return useQuery({ queryKey, queryFn: ({ signal }) => read(client, signal), ...options })
}

/** Sends a change, and then has everything read again whose key begins with one of these. */
export function useChange(...changed: QueryKey[]) {
  const { client } = useConnection()
  const queries = useQueryClient()
  return async <Result>(send: (client: Client) => Promise<Result>): Promise<Result> => {
    const result = await send(client)
    for (const queryKey of changed) await queries.invalidateQueries({ queryKey })
    return result
  }
}
