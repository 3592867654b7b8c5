import { PubringError } from './errors.ts'
import { retryAfterOf } from './retry.ts'
import type { Problem } from './types.ts'

/** What the error of an answer that is no success says of where it came from. */
export type Asked = {
  method: string
  url: string
  base: string
  /** Whether the answer is an array; otherwise it is an object. */
  list?: boolean
}

/** An answer of the service, read to its end. */
export type Answer = { status: number; headers: Headers; body: unknown }

/** Reads an answer to its end. Throws what the service says, or `unexpected_response`. */
export async function readAnswer(response: Response, asked: Asked): Promise<Answer> {
  refuseRedirect(response, asked)
  const text = await response.text()
  const { status, headers } = response
  if (!response.ok) throw refusal(response, text, asked)
  if (status === 204) return { status, headers, body: undefined }
  const body = parse(text)
  if (typeof body !== 'object' || body === null) throw unexpected(response, asked, 'is not JSON')
  if (Array.isArray(body) !== (asked.list === true)) {
    throw unexpected(response, asked, 'is not one of Pubring')
  }
  return { status, headers, body }
}

/** Throws where the answer leads elsewhere: what follows it would take the API key there. */
export function refuseRedirect(response: Response, asked: Asked): void {
  const { status, headers, type } = response
  if (type !== 'opaqueredirect' && (status < 300 || status > 399)) return
  void response.body?.cancel()
  const target = placeOf(headers.get('location'), asked)
  const advice =
    target === undefined
      ? 'Give the address that it leads to.'
      : `If you trust it, give ${target} as the address.`
  throw new PubringError(
    'unexpected_response',
    `${asked.base} answers with a redirect, which is not followed, so that no API key goes astray. ${advice}`,
    { status },
  )
}

/** The address of the service behind a redirect, as far as it can be told. */
function placeOf(location: string | null, { url, base }: Asked): string | undefined {
  if (location === null || !URL.canParse(location, url)) return undefined
  const target = new URL(location, url)
  target.username = ''
  target.password = ''
  const rest = url.slice(base.length)
  const { href } = target
  return href.endsWith(rest) ? href.slice(0, -rest.length) : `${target.origin}${target.pathname}`
}

/** The error that an answer other than 2xx means. */
export function refusal(response: Response, text: string, asked: Asked): PubringError {
  const problem = problemOf(parse(text))
  if (problem === undefined) return unexpected(response, asked, 'is not one of Pubring')
  return new PubringError(problem.code, problem.detail, { ...detailsOf(response), problem })
}

function unexpected(response: Response, asked: Asked, what: string): PubringError {
  const { status } = response
  return new PubringError(
    'unexpected_response',
    `The answer to ${asked.method} ${asked.url} (status ${status}) ${what}. Is ${asked.base} the address of your Pubring, and does everything in between let it through?`,
    detailsOf(response),
  )
}

function detailsOf({ status, headers }: Response) {
  const requestId = headers.get('x-request-id')
  const retryAfter = retryAfterOf(headers)
  return {
    status,
    ...(requestId === null ? {} : { requestId }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  }
}

function problemOf(body: unknown): Problem | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  if (!('code' in body) || !('detail' in body)) return undefined
  return typeof body.code === 'string' && typeof body.detail === 'string'
    ? (body as Problem)
    : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
