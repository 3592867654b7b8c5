import type { Client } from '@pubring/client'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'

/** A query cache for one user. When `client` changes, after signing in again, all data is loaded again. */
export function QueryProvider(props: {
  client: Client
  onError(error: unknown): void
  children: ReactNode
}) {
  const { client, onError, children } = props
  const [queryClient] = useState(
    () =>
      new QueryClient({
        queryCache: new QueryCache({ onError }),
        defaultOptions: {
          queries: { retry: false, staleTime: 5_000, networkMode: 'always' },
          mutations: { retry: false, networkMode: 'always' },
        },
      }),
  )
  const used = useRef(client)
  useEffect(() => {
    if (used.current === client) return
    used.current = client
    void queryClient.invalidateQueries()
  }, [client, queryClient])
  return <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
}
