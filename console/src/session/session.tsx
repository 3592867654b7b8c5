import type { Client, Role, Self } from '@pubring/client'
import {
  QueryCache,
  QueryClient,
  QueryClientProvider,
  type QueryKey,
  skipToken,
  type UseQueryOptions,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
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

export function useSession(): Session {
  const connection = useConnection()
  if (!('self' in connection)) throw new Error('useSession is used outside SessionGate.')
  return connection
}

type QueryProviderProps = { client: Client; onError(error: unknown): void; children: ReactNode }

/** A query cache for one user. When `client` changes, after signing in again, all data is loaded again. */
export function QueryProvider({ client, onError, children }: QueryProviderProps) {
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

/** Reads from the service, if there is something to `read`, under a key by which it is read again. */
export function useApi<Data>(
  queryKey: QueryKey,
  read: false | '' | undefined | ((client: Client, signal: AbortSignal) => Promise<Data>),
  options: Pick<UseQueryOptions<Data>, 'staleTime' | 'gcTime' | 'refetchInterval'> = {},
) {
  const { client } = useConnection()
  const queryFn = read ? ({ signal }: { signal: AbortSignal }) => read(client, signal) : skipToken
  return useQuery({ queryKey, queryFn, ...options })
}

/** Sends a change, and then has everything read again whose key begins with one of these. */
export function useChange(...changed: QueryKey[]) {
  const { client } = useConnection()
  const queries = useQueryClient()
  return async <Result,>(send: (client: Client) => Promise<Result>): Promise<Result> => {
    const result = await send(client)
    for (const queryKey of changed) await queries.invalidateQueries({ queryKey })
    return result
  }
}

/** From weak to strong; an auditor only reads, but everything. */
const ranked: readonly Role[] = ['reader', 'registrar', 'writer', 'admin']
export const roles: readonly Role[] = [...ranked, 'auditor']

/** The rights of the user: in a project, if one is given, and at all. */
export function useRights(projectId?: string) {
  const { grants } = useSession().self
  const ranks = grants
    .filter((grant) => grant.projectId === undefined || grant.projectId === projectId)
    .map(({ role }) => ranked.indexOf(role))
  const rank = Math.max(-1, ...ranks)
  return {
    mayRegister: rank >= ranked.indexOf('registrar'),
    mayWrite: rank >= ranked.indexOf('writer'),
    mayManage: grants.some(isAdminOfAll),
    mayAudit: grants.some((grant) => grant.role === 'auditor' || isAdminOfAll(grant)),
    onlyProject: onlyProjectOf(grants),
  }
}

const isAdminOfAll = ({ role, projectId }: Self['grants'][number]): boolean =>
  role === 'admin' && projectId === undefined

export function strongestRole({ grants }: Self): string {
  const byStrength: readonly Role[] = ['admin', 'auditor', 'writer', 'registrar', 'reader']
  return byStrength.find((role) => grants.some((grant) => grant.role === role)) ?? 'no role'
}

function onlyProjectOf(grants: Self['grants']): string | undefined {
  const [first] = grants
  const isOnly = grants.every(({ projectId }) => projectId === first?.projectId)
  return isOnly ? first?.projectId : undefined
}
