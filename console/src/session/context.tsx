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
import { clearRotations } from './rotations.ts'

const storageKey = 'pubring.apiKey'

/** The service that served this page: `/console/` is beside `/v1`. */
const serviceUrl = new URL('..', document.baseURI.replace(/#.*$/, '')).href

/** The signed-in API key. Its secret is only in `client` and in the session storage of the tab. */
export type Session = { client: Client; self: ApiKey; signOut(): void }

type SignInState = { signIn(apiKey: string): Promise<void>; reason?: string | undefined }

type State = { client: Client; self: ApiKey } | undefined

const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the pages below `SessionGate`. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('useSession is used outside SessionGate.')
  return session
}

/** The rights of the API key, to hide what it may not do. */
export function useRights() {
  const { self } = useSession()
  const unbound = self.projectId === undefined
  return {
    mayRegister: self.role !== 'reader',
    mayWrite: self.role === 'writer' || self.role === 'admin',
    mayManage: self.role === 'admin' && unbound,
    unbound,
  }
}

/** The API key that this tab is signed in with, to resume after a reload. */
export function storedApiKey(): string | undefined {
  return sessionStorage.getItem(storageKey) ?? undefined
}

/** Renders `children` while signed in, and `signInPage` otherwise. */
export function SessionGate(props: {
  children: ReactNode
  signInPage: (state: SignInState) => ReactNode
}) {
  const [state, setState] = useState<State>()
  const [reason, setReason] = useState<string>()
  const currentClient = useRef<Client>(undefined)

  const signOut = useCallback((why?: string) => {
    sessionStorage.removeItem(storageKey)
    clearRotations()
    currentClient.current = undefined
    setReason(why)
    setState(undefined)
  }, [])
  const signIn = useCallback(async (apiKey: string) => {
    try {
      const client = createClient({ url: serviceUrl, apiKey, retries: 1 })
      const self = await client.apiKeys.self()
      sessionStorage.setItem(storageKey, apiKey.trim())
      setReason(undefined)
      currentClient.current = client
      setState({ client, self })
    } catch (error) {
      if (isUnauthorized(error)) sessionStorage.removeItem(storageKey)
      throw error
    }
  }, [])
  const session = useMemo(() => state && { ...state, signOut: () => signOut() }, [state, signOut])
  if (session === undefined) return props.signInPage({ signIn, reason })
  return (
    <SessionContext value={session}>
      <QueryProvider
        onUnauthorized={(why) => currentClient.current === session.client && signOut(why)}
      >
        {props.children}
      </QueryProvider>
    </SessionContext>
  )
}

/** A query cache for one session, so that the next one starts empty. */
function QueryProvider(props: { children: ReactNode; onUnauthorized: (why: string) => unknown }) {
  const { children, onUnauthorized } = props
  const [queryClient] = useState(() => {
    const onError = (error: Error) => {
      if (isUnauthorized(error)) onUnauthorized('Your API key was revoked or has expired.')
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

function isUnauthorized(error: unknown): boolean {
  return error instanceof PubringError && error.status === 401
}
