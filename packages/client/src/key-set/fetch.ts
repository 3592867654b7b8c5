import { createDeadline } from '../transport/deadline.ts'
import { networkErrorReason } from '../transport/network-error.ts'
import { retryAfterSeconds } from '../transport/retry.ts'
import { parseJson, readText } from '../transport/text-chunks.ts'
import { KeySetError } from './errors.ts'
import { type Head, parseHead } from './head.ts'
import { now, type Timestamp } from './timestamp.ts'

/** A request for the key set. */
type KeySetRequest = {
  url: string
  fetch: typeof globalThis.fetch
  /** The `ETag` of the cached key set. */
  etag: string | undefined
  /** How long the service may hold the request until the key set changes; 0 for a plain request. */
  waitSeconds: number
  /** Asks caches not to answer; for conditional requests, Node and browsers always do. */
  noCache?: boolean
  timeoutMs: number
  signal: AbortSignal | undefined
}

/** The response to a request for the key set. */
export type KeySetResponse = {
  /** The key set; undefined if it has not changed (304). */
  body?: unknown
  etag: string | undefined
  /** The last event of the project; undefined if a proxy removed the header. */
  head: Head | undefined
  /** The URL of a key set by the id of its project, if it was requested by its name. */
  contentLocation: string | undefined
  /** When the request was sent: the response is at least as recent. */
  sentAt: Timestamp
  /** Seconds of `Preference-Applied: wait=N`; undefined if the preference was not honored. */
  appliedWait: number | undefined
  /** `Age` in seconds: how old a cached copy is; undefined if no cache answered. */
  age: number | undefined
  /** `max-age` in seconds; 0 if there is none. */
  maxAge: number
}

/** No key set has this tag, so the first response shows whether `Prefer` reaches the service. */
const noEtag = '"none"'

/** Sends one request. Throws `key_set_unavailable` unless the response is a key set or a 304. */
export async function fetchKeySet(request: KeySetRequest): Promise<KeySetResponse> {
  const { url, fetch, etag, waitSeconds, noCache, timeoutMs, signal } = request
  // A long poll keeps no process alive.
  const deadline = createDeadline(timeoutMs, signal, waitSeconds > 0)
  const sentAt = now()
  const headers = {
    accept: 'application/json',
    'if-none-match': etag ?? noEtag,
    prefer: `wait=${waitSeconds}`,
    ...(noCache && { 'cache-control': 'no-cache' }),
  }
  try {
    const response = await fetch(url, {
      headers,
      signal: deadline.signal,
      redirect: 'manual',
      credentials: 'omit',
    })
    return await readResponse(response, url, sentAt)
  } catch (cause) {
    if (cause instanceof KeySetError) throw cause
    const reason = deadline.expired()
      ? 'has not answered in time'
      : `cannot be reached (${networkErrorReason(cause)})`
    throw new KeySetError('key_set_unavailable', `The key set at ${url} ${reason}.`, { cause })
  } finally {
    deadline.clear()
  }
}

async function readResponse(
  response: Response,
  url: string,
  sentAt: Timestamp,
): Promise<KeySetResponse> {
  const { status, headers } = response
  const text = await readText(response, maxResponseLength)
  if (text === undefined) throw notAKeySet(url)
  if (status !== 200 && status !== 304) throw statusError(response, url)
  const result: KeySetResponse = {
    etag: headers.get('etag') ?? undefined,
    contentLocation: headers.get('content-location') ?? undefined,
    head: parseHead(headers.get('pubring-revision') ?? ''),
    sentAt,
    appliedWait: matchNumber(headers.get('preference-applied'), /(?:^|[,\s])wait="?(\d+)/i),
    age: matchNumber(headers.get('age'), /^(\d+)/),
    maxAge: matchNumber(headers.get('cache-control'), /(?:^|[,\s])max-age="?(\d+)/i) ?? 0,
  }
  if (status === 304) return result
  const body = parseJson(text)
  if (body === undefined) throw notAKeySet(url)
  return { ...result, body }
}

/** A longer response, in characters, is rejected. Key sets have up to 51,200 bytes by default. */
export const maxResponseLength = 4 * 1024 * 1024

function matchNumber(text: string | null, pattern: RegExp): number | undefined {
  const digits = pattern.exec(text ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}

export function notAKeySet(url: string): KeySetError {
  const message = `The response from ${url} is not a key set. Check that it is the issuer of a project and that no proxy responds in its place.`
  return new KeySetError('key_set_unavailable', message)
}

function statusError({ status, type, headers }: Response, url: string): KeySetError {
  const location = headers.get('location')
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url) : null
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400)
  const reason = isRedirect
    ? `with a redirect, which is not followed. Use the URL that it redirects to${target === null ? '' : `, if you trust it: ${target.origin}${target.pathname}`}.`
    : `with status ${status}${status === 404 ? ': the project does not exist' : ''}.`
  const retryAfter = retryAfterSeconds(headers)
  return new KeySetError('key_set_unavailable', `${url} responds ${reason}`, { retryAfter, status })
}
