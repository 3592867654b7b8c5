import { deadline } from '../deadline.ts'
import { reasonOf } from '../network-error.ts'
import { retryAfterOf } from '../retry.ts'
import { textsOf } from '../text-chunks.ts'
import { KeySetError } from './errors.ts'
import { type Moment, now } from './timestamp.ts'

/** How the key set is asked for. */
export type Question = {
  url: string
  fetch: typeof globalThis.fetch
  /** That of the key set which is known. */
  etag: string | undefined
  /** Seconds that the answer may wait for news; 0: at once. */
  wait: number
  /** Milliseconds after which the connection counts as dead. */
  timeout: number
  signal: AbortSignal
  /** Whether the process may end meanwhile, where the runtime has a say in that. */
  background: boolean
}

/** An answer about the key set. */
export type KeySetAnswer = {
  /** The key set; undefined where it is still the known one (304). */
  body?: unknown
  etag: string | undefined
  /** When it was asked for: what it says was true then or later. */
  sent: Moment
  /** Seconds of `Preference-Applied: wait=N`; undefined where nobody honours the preference. */
  applied: number | undefined
  /** Seconds of `Age`: how old a cache says that its copy is; undefined where none answered. */
  age: number | undefined
  /** Seconds of `max-age`, 0 where there is none. */
  maxAge: number
}

/** No key set has this tag, so that the first answer says whether `Prefer` comes through. */
const noTag = '"none"'

/** Asks once. Throws `key_set_unavailable` where the answer is neither a key set nor “as before”. */
export async function askForKeySet(question: Question): Promise<KeySetAnswer> {
  const { url, fetch, etag, wait, timeout, signal, background } = question
  const limit = deadline(timeout, signal, background)
  const sent = now()
  const headers = {
    accept: 'application/json',
    'if-none-match': etag ?? noTag,
    prefer: `wait=${wait}`,
  }
  try {
    const response = await fetch(url, {
      headers,
      signal: limit.signal,
      redirect: 'manual',
      credentials: 'omit',
    })
    return await readAnswer(response, url, sent)
  } catch (cause) {
    if (cause instanceof KeySetError) throw cause
    const why = limit.expired()
      ? 'has not answered in time'
      : `cannot be reached (${reasonOf(cause)})`
    throw new KeySetError('key_set_unavailable', `The key set at ${url} ${why}.`, { cause })
  } finally {
    limit.clear()
  }
}

async function readAnswer(response: Response, url: string, sent: Moment): Promise<KeySetAnswer> {
  const { status, headers } = response
  const text = await textOf(response, url)
  if (status !== 200 && status !== 304) throw refusal(response, url)
  const applied = numberIn(headers.get('preference-applied'), /(?:^|[,\s])wait="?(\d+)/i)
  const answer: KeySetAnswer = {
    etag: headers.get('etag') ?? undefined,
    sent,
    applied,
    age: numberIn(headers.get('age'), /^(\d+)/),
    maxAge: numberIn(headers.get('cache-control'), /(?:^|[,\s])max-age="?(\d+)/i) ?? 0,
  }
  return status === 304 ? answer : { ...answer, body: parsed(text, url) }
}

/** Characters of an answer that are read at most: key sets have 51,200 unless configured otherwise. */
const longestAnswer = 4 * 1024 * 1024

async function textOf(response: Response, url: string): Promise<string> {
  let text = ''
  for await (const piece of textsOf(response)) {
    text += piece
    if (text.length > longestAnswer) throw noKeySet(url)
  }
  return text
}

function numberIn(text: string | null, pattern: RegExp): number | undefined {
  const digits = pattern.exec(text ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function parsed(text: string, url: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw noKeySet(url, cause)
  }
}

/** The error for an answer that is not a key set. */
export function noKeySet(url: string, cause?: unknown): KeySetError {
  const message = `What ${url} answers is no key set. Is it the issuer of a project, and reached directly?`
  return new KeySetError('key_set_unavailable', message, { cause })
}

function refusal({ status, type, headers }: Response, url: string): KeySetError {
  const location = headers.get('location')
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url) : null
  const redirect = type === 'opaqueredirect' || (status >= 300 && status < 400)
  const what = redirect
    ? `with a redirect, which is not followed. Give the address that it leads to${target === null ? '' : `, if you trust it: ${target.origin}${target.pathname}`}.`
    : `with status ${status}${status === 404 ? ': there is no such project' : ''}.`
  const retryAfter = retryAfterOf(headers)
  return new KeySetError('key_set_unavailable', `${url} answers ${what}`, { retryAfter })
}
