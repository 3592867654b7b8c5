import type { Client, Self } from '@pubring/client'
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { clearDrafts } from '../forms/action-form.tsx'
import {
  announceSession,
  createSessionClient,
  exchangeApiKey,
  onSessionChange,
  type SignInReason,
  signInReason,
} from './client.ts'
import { ConnectionContext, QueryProvider, type Session } from './session.tsx'
import { SignInAgain, type SignInRequest } from './sign-in-again.tsx'
import { SignInPage } from './sign-in-form.tsx'

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
    <ConnectionContext value={session}>
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
    </ConnectionContext>
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
