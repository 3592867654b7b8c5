import { createCredentials } from '../credentials.ts'
import { PubringError } from '../errors.ts'
import type { ClientOptions } from '../options.ts'
import type { TokenExchangeResponse } from '../types.ts'
import { normalizeUrl } from '../validation.ts'
import { createDeadline, sleep } from './deadline.ts'
import { networkErrorReason } from './network-error.ts'
import {
  type ApiResponse,
  type Expectation,
  type RequestContext,
  readResponse,
  rejectRedirect,
} from './response.ts'
import { isOutcomeUnknown, mayRetry, type RetryMode, retryDelayMs } from './retry.ts'

/** One API operation as an HTTP request. */
export type Operation = Expectation & {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Relative to the base URL. */
  path: string
  query?: Record<string, string | number | boolean | undefined>
  headers?: Record<string, string>
  /** Sent as JSON, or as a form if it is `URLSearchParams`. */
  body?: object
  signal?: AbortSignal | undefined
  /** In place of those of the transport. */
  retries?: number | undefined
  retry: RetryMode
  /** Sent without the API key. */
  access?: 'public'
}

/** Sends operations to one service. */
export type Transport = ReturnType<typeof createTransport>

/** With less time left, a retry would only time out. */
const minAttemptMs = 20

/** Throws if the URL or the API key cannot be used. */
export function createTransport(options: ClientOptions) {
  const { retries = 3, timeout = 30_000, totalTimeout = Number.POSITIVE_INFINITY } = options
  const url = normalizeUrl(options.url)
  const request = createRequest(url, options)
  const contextOf = (operation: Operation): RequestContext => {
    return { ...operation, url: operationUrl(url, operation), baseUrl: url }
  }
  /** The `PubringError` for what `fetch` or reading the body threw. */
  const toError = (operation: Operation, cause: unknown, timedOut = false) =>
    transportError(url, operation, cause, timedOut)

  async function sendOnce(
    operation: Operation,
    apiKey: string | undefined,
    end: number,
  ): Promise<ApiResponse> {
    const left = Math.max(0, end - performance.now())
    const deadline = createDeadline(Math.min(timeout, left), operation.signal)
    try {
      const response = await request(operation, apiKey, deadline.signal)
      return await readResponse(response, contextOf(operation))
    } catch (error) {
      throw toError(operation, error, deadline.expired())
    } finally {
      deadline.clear()
    }
  }
  async function sendWith(operation: Operation, apiKey?: string): Promise<ApiResponse> {
    const end = performance.now() + totalTimeout
    const wait = async (error: PubringError, delayMs: number) => {
      if (performance.now() + delayMs + minAttemptMs > end) throw error
      await sleep(delayMs, operation.signal).catch((cause) => {
        throw toError(operation, cause)
      })
    }
    const limit = operation.retries ?? retries
    return sendWithRetries(operation, limit, () => sendOnce(operation, apiKey, end), wait)
  }
  const credentials = createCredentials(options, async (request) => {
    return (await sendWith(tokenExchange(request))).body as TokenExchangeResponse
  })

  /** Runs it with the API key, and once more with another one if the service rejects the first. */
  async function authorized<Result>(
    operation: Operation,
    signal: AbortSignal | undefined,
    run: (apiKey: string | undefined) => Promise<Result>,
  ): Promise<Result> {
    if (operation.access === 'public') return run(undefined)
    const obtain = () =>
      credentials.apiKey(signal).catch((cause) => {
        throw toError(operation, cause)
      })
    const apiKey = await obtain()
    try {
      return await run(apiKey)
    } catch (error) {
      const isRejected = error instanceof PubringError && error.code === 'invalid_api_key'
      if (!isRejected || !credentials.replace(apiKey)) throw error
      return run(await obtain())
    }
  }
  return {
    url,
    retries,
    toError,
    /** Sends it once; resolves with a 2xx whose body the caller reads under `signal`. */
    open: (operation: Operation, signal: AbortSignal): Promise<Response> =>
      authorized(operation, signal, async (apiKey) => {
        const response = await request(operation, apiKey, signal)
        rejectRedirect(response, contextOf(operation))
        // Throws the error in the body.
        if (!response.ok) await readResponse(response, contextOf(operation))
        return response
      }),
    /** Sends and retries the operation; resolves with a 2xx. Throws only `PubringError`. */
    send: (operation: Operation): Promise<ApiResponse> =>
      authorized(operation, operation.signal, (apiKey) => sendWith(operation, apiKey)),
  }
}

/** The exchange of a token (RFC 8693). It is safe to repeat: it only makes another API key of minutes. */
export function tokenExchange({ token, rule }: { token: string; rule?: string }): Operation {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  })
  if (rule !== undefined) body.set('rule', rule)
  const member = 'access_token'
  return { method: 'POST', path: '/token', body, retry: 'always', access: 'public', member }
}

function createRequest(url: string, options: ClientOptions) {
  const { userAgent } = options
  const send = options.fetch ?? ((input, init) => fetch(input, init))
  return async (
    operation: Operation,
    apiKey: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> => {
    const { method, body } = operation
    // `fetch` sets the content type of a form.
    const isForm = body instanceof URLSearchParams
    const headers: Record<string, string> = { accept: 'application/json' }
    if (userAgent !== undefined) headers['user-agent'] = userAgent
    Object.assign(headers, operation.headers)
    if (apiKey !== undefined) headers['x-api-key'] = apiKey
    if (body !== undefined && !isForm) headers['content-type'] = 'application/json'
    const init: RequestInit = { method, headers, signal, redirect: 'manual', credentials: 'omit' }
    if (body !== undefined) init.body = isForm ? body : JSON.stringify(body)
    return send(operationUrl(url, operation), init)
  }
}

function operationUrl(baseUrl: string, { path, query = {} }: Operation): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return parameters.size === 0 ? `${baseUrl}${path}` : `${baseUrl}${path}?${parameters}`
}

async function sendWithRetries(
  operation: Operation,
  retries: number,
  sendOnce: () => Promise<ApiResponse>,
  wait: (error: PubringError, delayMs: number) => Promise<void>,
): Promise<ApiResponse> {
  /** The first failure after which the service may have processed the request. */
  let unknownOutcome: PubringError | undefined
  for (let retry = 0; ; retry += 1) {
    try {
      return await sendOnce()
    } catch (error) {
      if (!(error instanceof PubringError)) throw error
      if (unknownOutcome !== undefined) {
        if (isDeleted(operation, error)) return noContent
        // The first attempt may have changed the state itself, or used up a token.
        if (/^(precondition_failed|token_refused)$/.test(error.code)) throw unknownOutcome
      }
      if (retry >= retries || !mayRetry(error, operation.retry)) throw error
      if (isOutcomeUnknown(error)) unknownOutcome ??= error
      await wait(error, retryDelayMs(retry, error.retryAfter))
    }
  }
}

const noContent: ApiResponse = { headers: new Headers(), body: undefined }

/** Whether a retried DELETE found nothing because an earlier attempt succeeded. */
function isDeleted({ method, path }: Operation, { code }: PubringError): boolean {
  if (method !== 'DELETE') return false
  if (path.includes('/jwt-keys/')) return code === 'key_not_found'
  return /^(project|api_key|access_rule|session|person)_not_found$/.test(code)
}

function transportError(
  url: string,
  operation: Operation,
  cause: unknown,
  timedOut: boolean,
): PubringError {
  if (cause instanceof PubringError) return cause
  if (operation.signal?.aborted) {
    return new PubringError('aborted', 'The request was aborted.', { cause })
  }
  const warning = operation.retry === 'always' ? '' : ` ${outcomeUnknown}`
  if (timedOut) {
    const message = `${url} has not answered in time.${warning}`
    return new PubringError('timeout', message, { cause })
  }
  const message = `${url} cannot be reached (${networkErrorReason(cause)}). Check the address, and that the service is running.${warning}`
  return new PubringError('unreachable', message, { cause })
}

const outcomeUnknown = 'The request may have been processed: check before you repeat it.'
