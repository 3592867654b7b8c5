import type { Client, Self } from '@pubring/client'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { clearDrafts } from '../forms/drafts.ts'
import { announceSession, onSessionChange } from './channel.ts'
import { createSessionClient, exchangeApiKey, type SignInReason, signInReason } from './client.ts'
import { SignInPage } from './sign-in.tsx'
import { SignInAgain, type SignInRequest } from './sign-in-again.tsx'

/** The signed-in person or API key. Its secret is in a cookie that scripts cannot read. */
export type Session = {
  client: Client
  self: Self
  /** Ends the session; throws if the service does not answer, since then it has not ended. */
  signOut(): Promise<void>
  /**
   * Runs the action, and once more after signing in if that is why it failed. The dialog says by `name`
   * what it is for; for a recent sign-in, it goes when the user leaves the page.
   */
  withSignIn<Result>(action: () => Promise<Result>, name?: string): Promise<Result>
  /** Asks to sign in again if the error says that the session has ended. */
  report(error: unknown): void
}

const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the pages below `SessionGate`. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('useSession is used outside SessionGate.')
  return session
}

/** Renders `children` while signed in, and the sign-in page otherwise. */
export function SessionGate({ children }: { children: ReactNode }) {
  const [client, setClient] = useState(createSessionClient)
  const [self, setSelf] = useState<Self>()
  const { request, ask, answer } = useSignInRequest()
  const current = useRef<Self>(undefined)

  const leave = useCallback(() => {
    clearDrafts()
    current.current = undefined
    setSelf(undefined)
  }, [])
  /** Reads who is signed in now; drafts and loaded data of another user are dropped. */
  const resume = useCallback(async () => {
    const next = createSessionClient()
    const found = await next.sessions.self()
    const before = current.current
    const isOther = before !== undefined && holderOf(before) !== holderOf(found)
    if (isOther) leave()
    current.current = found
    setClient(next)
    setSelf(found)
    answer(!isOther)
  }, [answer, leave])
  const signIn = useCallback(
    async (apiKey: string) => {
      const replaced = current.current?.session?.id
      await exchangeApiKey(apiKey)
      await resume()
      announceSession()
      // It may have ended, or be of another holder; then it ends by itself.
      if (replaced !== undefined)
        await createSessionClient()
          .sessions.end(replaced)
          .catch(() => {})
    },
    [resume],
  )
  const report = useCallback(
    (error: unknown) => {
      if (signInReason(error) === 'ended') void ask('ended')
    },
    [ask],
  )
  const check = useCallback(() => void resume().catch(report), [resume, report])
  useEffect(() => onSessionChange(check), [check])
  useCheckAt(self?.session?.expireTime, check)

  const session = useMemo<Session | undefined>(
    () =>
      self && {
        client,
        self,
        report,
        withSignIn: (action, name) => runWithSignIn(action, (why) => ask(why, name)),
        signOut: async () => {
          const signOutUrl = await endSession(client)
          leave()
          announceSession()
          if (signOutUrl !== undefined) location.assign(signOutUrl)
        },
      },
    [client, self, report, ask, leave],
  )
  if (session === undefined) return <SignInPage signIn={signIn} resume={resume} />
  return (
    <SessionContext value={session}>
      <QueryProvider key={holderOf(session.self)} client={client} onError={report}>
        {children}
        {request !== undefined && (
          <SignInAgain
            {...request}
            signIn={signIn}
            resume={resume}
            onCancel={() => {
              answer(false)
              if (request.reason === 'ended') leave()
            }}
          />
        )}
      </QueryProvider>
    </SessionContext>
  )
}

const holderOf = ({ person, apiKeyId }: Self) => person?.id ?? apiKeyId ?? ''

/** Returns where to sign out of the OpenID provider too. A session that has ended is none. */
async function endSession(client: Client): Promise<string | undefined> {
  try {
    return (await client.sessions.signOut()).signOutUrl
  } catch (error) {
    if (signInReason(error) === undefined) throw error
    return undefined
  }
}

async function runWithSignIn<Result>(
  action: () => Promise<Result>,
  ask: (reason: SignInReason) => Promise<boolean>,
): Promise<Result> {
  try {
    return await action()
  } catch (error) {
    const reason = signInReason(error)
    if (reason === undefined || !(await ask(reason))) throw error
    return action()
  }
}

/** The open question to sign in again, of which there is one at a time. */
function useSignInRequest() {
  const [request, setRequest] = useState<SignInRequest>()
  const waiting = useRef<((signedIn: boolean) => void)[]>([])
  const ask = useCallback((reason: SignInReason, action?: string) => {
    setRequest({ reason, action })
    return new Promise<boolean>((resolve) => waiting.current.push(resolve))
  }, [])
  const answer = useCallback((signedIn: boolean) => {
    setRequest(undefined)
    for (const resolve of waiting.current.splice(0)) resolve(signedIn)
  }, [])
  return { request, ask, answer }
}

function useCheckAt(time: string | undefined, check: () => void): void {
  useEffect(() => {
    if (time === undefined) return
    const timer = setTimeout(check, Date.parse(time) - Date.now() + 1_000)
    return () => clearTimeout(timer)
  }, [time, check])
}

/** A query cache for one user. When `client` changes, after signing in again, all data is loaded again. */
function QueryProvider(props: {
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
