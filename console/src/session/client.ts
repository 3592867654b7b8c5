import { type Client, createClient, PubringError } from '@pubring/client'
import { findPastedApiKey } from '@pubring/client/internal/pasted-api-key'

/** The service that served this page: `console/` and `register` are beside `v1`. */
export const url = document.baseURI.replace(/(console\/|register)([?#].*)?$/, '')

export const isConsoleAt = (address: string): boolean => new URL('..', address).href === url

/** Sends and keeps the cookie of the session, which no script can read. */
const fetchWithCookie: typeof fetch = (input, init) =>
  fetch(input, { ...init, credentials: 'same-origin' })

/** A client that acts with the session of the browser: of a person, or of the registration link with an id. */
export function createSessionClient(
  apiKey: 'session' | `registration:${string}` = 'session',
): Client {
  return createClient({ url, apiKey, retries: 1, fetch: fetchWithCookie })
}

type Health = { state?: string; reason?: string; logReason?: string }

/** The health checks of the service that served this page, which need no session. */
export async function readHealth(signal: AbortSignal): Promise<{ ready: Health; write: Health }> {
  const read = async (check: string) =>
    (await fetch(new URL(`health/${check}`, url), { signal, cache: 'no-store' })).json()
  return { ready: await read('ready'), write: await read('write') }
}

export async function readVerifierKey(signal: AbortSignal): Promise<string> {
  const response = await fetch(new URL('log/vkey', url), { signal, cache: 'no-cache' })
  if (response.ok) return (await response.text()).trim()
  throw new Error(`The key of the log could not be read: status ${response.status}.`)
}

/** The API key in a pasted text. Throws `invalid_api_key_text` before anything is sent. */
export function parsePastedApiKey(text: string): string {
  const apiKey = findPastedApiKey(text) ?? text
  createClient({ url, apiKey })
  return apiKey
}

/** Exchanges an API key for a session. The secret is sent once, and kept nowhere. */
export async function exchangeApiKey(apiKey: string): Promise<void> {
  await createClient({ url, apiKey, retries: 0, fetch: fetchWithCookie }).sessions.create()
}

/** Why a request needs a sign-in: there is no session, or it began too long ago for this. */
export type SignInReason = 'ended' | 'recent'

/** Undefined if signing in again would not help. */
export function signInReason(error: unknown): SignInReason | undefined {
  if (!(error instanceof PubringError)) return undefined
  if (error.status === 401) return 'ended'
  return error.code === 'recent_sign_in_required' ? 'recent' : undefined
}

const name = 'pubring.session'

/** Tells the other tabs that the session of the browser, which they share, has changed. */
export function announceSession(): void {
  const channel = new BroadcastChannel(name)
  channel.postMessage(undefined)
  channel.close()
}

/** Calls `onChange` when another tab has signed in or out. Returns what stops it. */
export function onSessionChange(onChange: () => void): () => void {
  const channel = new BroadcastChannel(name)
  channel.onmessage = onChange
  return () => channel.close()
}
