import { PubringError, type PubringErrorCode } from '../errors.ts'
import type { Problem } from '../types.ts'
import { retryAfterSeconds } from './retry.ts'
import { parseJson, readText } from './text-chunks.ts'

/** What a successful response to an operation has; by default, an object. */
export type Expectation = {
  /** The body is an array. */
  list?: true
  /** There is no body (204). */
  empty?: true
  /** The body has this member. */
  member?: string
}

/** The request that a response belongs to. */
export type RequestContext = Expectation & { method: string; url: string; baseUrl: string }

/** A successful response, fully read. */
export type ApiResponse = { headers: Headers; body: unknown }

/** Characters of a response: more than a page of the service can have. */
const maxResponseLength = 64 * 1024 * 1024

/** Characters of an error: more than one for every fault of an import can have. */
const maxErrorLength = 8 * 1024 * 1024

/** Reads a response to the end. Throws the service's error, or `unexpected_response`. */
export async function readResponse(
  response: Response,
  context: RequestContext,
): Promise<ApiResponse> {
  rejectRedirect(response, context)
  const text = await readText(response, response.ok ? maxResponseLength : maxErrorLength)
  if (text === undefined) throw unexpectedResponse(response, context)
  if (!response.ok) throw responseError(response, text, context)
  const body = parseJson(text)
  if (!isExpected(response, body, context)) throw unexpectedResponse(response, context)
  return { headers: response.headers, body }
}

/** Whether Pubring may have responded, since a proxy that says 200 to everything has changed nothing. */
function isExpected({ status }: Response, body: unknown, context: RequestContext): boolean {
  const { list = false, empty = false, member } = context
  if (empty) return status === 204
  if (typeof body !== 'object' || body === null || Array.isArray(body) !== list) return false
  return member === undefined || member in body
}

/** Throws on a redirect: following it would send the API key to another host. */
export function rejectRedirect(response: Response, context: RequestContext): void {
  const { status, headers, type } = response
  if (type !== 'opaqueredirect' && (status < 300 || status > 399)) return
  void response.body?.cancel()
  const target = redirectTarget(headers.get('location'), context)
  const advice =
    target === undefined
      ? 'Use the URL that it redirects to.'
      : `If you trust the target, use ${target} as the URL.`
  throw new PubringError(
    'unexpected_response',
    `${context.baseUrl} responds with a redirect, which is not followed, so that the API key does not go to another host. ${advice}`,
    { status },
  )
}

/** The base URL of the service behind a redirect, as far as it can be derived. */
function redirectTarget(
  location: string | null,
  { url, baseUrl }: RequestContext,
): string | undefined {
  if (location === null || !URL.canParse(location, url)) return undefined
  const target = new URL(location, url)
  target.username = ''
  target.password = ''
  // The server leads browsers to a page of its console, which is below the address of the API.
  if (target.hash !== '') return `${target.origin}${target.pathname.replace(/\/console\/?$/, '')}`
  const rest = url.slice(baseUrl.length)
  const { href } = target
  return href.endsWith(rest) ? href.slice(0, -rest.length) : `${target.origin}${target.pathname}`
}

/** The error for a response that is not 2xx. */
function responseError(response: Response, text: string, context: RequestContext): PubringError {
  const body = parseJson(text)
  const problem = asProblem(body)
  if (problem === undefined) {
    return oauthError(response, body) ?? unexpectedResponse(response, context)
  }
  return new PubringError(problem.code as PubringErrorCode, problem.detail, {
    ...errorDetails(response),
    problem,
  })
}

/** The error of a token exchange (RFC 6749 section 5.2). */
function oauthError(response: Response, body: unknown): PubringError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  if (!('error' in body) || !('error_description' in body)) return undefined
  const code = response.status === 400 ? 'token_refused' : String(body.error)
  return new PubringError(
    code as PubringErrorCode,
    String(body.error_description),
    errorDetails(response),
  )
}

function unexpectedResponse(
  response: Response,
  { method, url, baseUrl }: RequestContext,
): PubringError {
  return new PubringError(
    'unexpected_response',
    `The response to ${method} ${url} (status ${response.status}) is not from Pubring. Check that ${baseUrl} is the address of your Pubring server and that no proxy responds in its place.`,
    errorDetails(response),
  )
}

function errorDetails({ status, headers }: Response) {
  const requestId = headers.get('x-request-id')
  const retryAfter = retryAfterSeconds(headers)
  return {
    status,
    ...(requestId === null ? {} : { requestId }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  }
}

function asProblem(body: unknown): Problem | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  if (!('code' in body) || !('detail' in body)) return undefined
  return typeof body.code === 'string' && typeof body.detail === 'string'
    ? (body as Problem)
    : undefined
}
