import type { Client, Self } from '@pubring/client'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react'

/** How a page talks to the service. The secret of the session is in a cookie that scripts cannot read. */
export type Connection = {
  client: Client
  /**
   * Runs the action, and once more after signing in if that is why it failed. The dialog says by `name`
   * what it is for; for a recent sign-in, it goes when the user leaves the page.
   */
  withSignIn<Result>(action: () => Promise<Result>, name?: string): Promise<Result>
  /** Asks to sign in again if the error says that the session has ended. */
  report(error: unknown): void
}

/** The signed-in person or API key. */
export type Session = Connection & {
  self: Self
  /** Ends the session; throws if the service does not answer, since then it has not ended. */
  signOut(): Promise<void>
}

export const ConnectionContext = createContext<Connection | Session | undefined>(undefined)

/** The connection of the pages below `SessionGate`, and of that of a registration link. */
export function useConnection(): Connection | Session {
  const connection = useContext(ConnectionContext)
  if (connection === undefined) throw new Error('useConnection is used outside its context.')
  return connection
}

/** The session of the pages below `SessionGate`. */
export function useSession(): Session {
  const connection = useConnection()
  if (!('self' in connection)) throw new Error('useSession is used outside SessionGate.')
  return connection
}

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
