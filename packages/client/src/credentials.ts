import { PubringError } from './errors.ts'
import { elapsedMs, now, type Timestamp } from './key-set/timestamp.ts'
import type { ClientOptions } from './options.ts'
import { untilAborted } from './transport/deadline.ts'
import { createSingleFlight, isRequestBound } from './transport/request-bound.ts'
import type { TokenExchangeResponse } from './types.ts'
import { normalizeApiKey } from './validation.ts'

/** The API keys of one client. */
type Credentials = {
  /** The API key to send now; undefined if the client has none. Rejects when `signal` is aborted. */
  apiKey(signal: AbortSignal | undefined): Promise<string | undefined>
  /** Forgets an API key that the service rejected. Returns whether there can be another one. */
  replace(rejected: string | undefined): boolean
}

/** An API key that a token was exchanged for. Times in milliseconds. */
type Issued = { apiKey: string; at: Timestamp; lifetimeMs: number; renewAfterMs: number }

/** The part of its lifetime after which an API key is renewed. */
const renewAfter = 0.8

/**
 * The credentials of the options. Tokens are exchanged one at a time (in a request-bound runtime, one per request): when an API key is needed first,
 * and before the last one expires, while it is still in use.
 */
export function createCredentials(
  { apiKey, credentials: source, accessRule }: ClientOptions,
  exchange: (request: { token: string; rule?: string }) => Promise<TokenExchangeResponse>,
): Credentials {
  if (apiKey !== undefined || source === undefined) {
    const fixed = apiKey === undefined ? undefined : normalizeApiKey(apiKey)
    return { apiKey: async () => fixed, replace: () => false }
  }
  let issued: Issued | undefined
  const shared = !isRequestBound()

  const obtain = createSingleFlight(async () => {
    const token = await readToken(source)
    const at = now()
    const response = await exchange({ token, ...(accessRule && { rule: accessRule }) })
    const lifetimeMs = response.expires_in * 1_000
    const secret = normalizeApiKey(response.access_token)
    issued = { apiKey: secret, at, lifetimeMs, renewAfterMs: lifetimeMs * renewAfter }
    return secret
  }, shared)

  return {
    async apiKey(signal) {
      const age = issued === undefined ? 0 : elapsedMs(issued.at)
      if (issued === undefined || age >= issued.lifetimeMs) {
        return untilAborted(obtain(), signal)
      }
      const current = issued
      if (age >= current.renewAfterMs) {
        // The API key in use is still valid: a failure matters only if it lasts until it is not.
        const renewal = obtain().catch(() => {
          current.renewAfterMs = (elapsedMs(current.at) + current.lifetimeMs) / 2
          return current.apiKey
        })
        if (!shared) return untilAborted(renewal, signal)
      }
      return current.apiKey
    },
    replace(rejected) {
      if (issued?.apiKey === rejected) issued = undefined
      return true
    },
  }
}

async function readToken(source: () => string | Promise<string>): Promise<string> {
  const text: unknown = await Promise.resolve()
    .then(source)
    .catch((cause) => {
      const message = 'There is no token: the function in credentials failed. See `cause`.'
      throw new PubringError('token_unavailable', message, { cause })
    })
  const token = typeof text === 'string' ? text.replace(/^[\s\uFEFF]+|[\s\uFEFF]+$/g, '') : ''
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token
  throw new PubringError(
    'token_unavailable',
    'There is no token: the function in credentials must return a signed JWT, three parts with dots between them. Nothing was sent.',
  )
}
