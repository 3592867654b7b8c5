import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
} from 'react'
import { type ApiKey, type Client, createClient, PubringError } from '../../../client/src/index.ts'
import { forgetRotations } from './rotations.ts'

const storageKey = 'pubring.apiKey'

/** The service that sent this page: `/console/` and `/v1` stand side by side. */
const serviceUrl = new URL('..', document.baseURI.replace(/#.*$/, '')).href

/** Who is signed in. The API key itself is in `client` and in the tab's session storage alone. */
export type Session = { client: Client; self: ApiKey; signOut(): void }

type SignedOut = { signIn(apiKey: string): Promise<void>; reason?: string | undefined }

type State = { client: Client; self: ApiKey } | undefined

const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the pages below `SessionGate`. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('No session: the page stands outside SessionGate.')
  return session
}

/** What the API key may do, for what is offered. */
export function useRights() {
  const { self } = useSession()
  const unbound = self.projectId === undefined
  return {
    mayWrite: self.role !== 'reader',
    mayManage: self.role === 'admin' && unbound,
    mayRename: self.role === 'admin',
    unbound,
  }
}

/** The API key that this tab was left with, if any. */
export function keptApiKey(): string | undefined {
  return sessionStorage.getItem(storageKey) ?? undefined
}

/** Shows `children` to who is signed in, and `signInPage` to all others. */
export function SessionGate(props: {
  children: ReactNode
  signInPage: (state: SignedOut) => ReactNode
}) {
  const [state, setState] = useState<State>()
  const [reason, setReason] = useState<string>()

  const present = useRef<Client>(undefined)
  const leave = useCallback((why?: string) => {
    sessionStorage.removeItem(storageKey)
    forgetRotations()
    present.current = undefined
    setReason(why)
    setState(undefined)
  }, [])
  const signIn = useCallback(async (apiKey: string) => {
    try {
      const client = createClient({ url: serviceUrl, apiKey, retries: 1 })
      const self = await client.apiKeys.self()
      sessionStorage.setItem(storageKey, apiKey.trim())
      setReason(undefined)
      present.current = client
      setState({ client, self })
    } catch (error) {
      if (isRefused(error)) sessionStorage.removeItem(storageKey)
      throw error
    }
  }, [])
  const session = useMemo(() => state && { ...state, signOut: () => leave() }, [state, leave])
  if (session === undefined) return props.signInPage({ signIn, reason })
  return (
    <SessionContext value={session}>
      <Queries onRefused={(why) => present.current === session.client && leave(why)}>
        {props.children}
      </Queries>
    </SessionContext>
  )
}

/** What was read is kept for one session: another one begins with nothing. */
function Queries(props: { children: ReactNode; onRefused: (why: string) => unknown }) {
  const { children, onRefused } = props
  const [queryClient] = useState(() => {
    const onError = (error: Error) => {
      if (isRefused(error)) onRefused('The API key no longer works: it was revoked or has expired.')
    }
    return new QueryClient({
      queryCache: new QueryCache({ onError }),
      mutationCache: new MutationCache({ onError }),
      defaultOptions: {
        queries: { retry: false, staleTime: 5_000, networkMode: 'always' },
        mutations: { retry: false, networkMode: 'always' },
      },
    })
  })
  return <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
}

function isRefused(error: unknown): boolean {
  return error instanceof PubringError && error.status === 401
}
