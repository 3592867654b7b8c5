import type { ClientOptions } from './api.ts'
import { apiKeyText } from './api-key-text.ts'
import { deadline, pause } from './deadline.ts'
import { PubringError } from './errors.ts'
import { reasonOf } from './network-error.ts'
import { type Answer, type Asked, readAnswer, refusal, refuseRedirect } from './response.ts'
import { isUnclear, mayRepeat, pauseBefore, type Repeatable } from './retry.ts'
import { baseUrl } from './validation.ts'

/** One operation, as it goes over the wire. */
export type Operation = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** From the base address on. */
  path: string
  query?: Record<string, string | number | boolean | undefined>
  headers?: Record<string, string>
  body?: object
  signal?: AbortSignal | undefined
  repeatable: Repeatable
  /** The answer is an array. */
  list?: true
  /** Whether the API key goes along; the public operations need none. */
  access?: 'public'
}

/** Sends operations to one service. */
export type Transport = {
  url: string
  /** Sends it, again where that is safe; resolves with a 2xx. Throws `PubringError` alone. */
  send(operation: Operation): Promise<Answer>
  /** Sends it once, and resolves with a 2xx whose body is still to be read under `signal`. */
  open(operation: Operation, signal: AbortSignal): Promise<Response>
  /** The error that stands for what `fetch` or the reading of a body threw. */
  failure(operation: Operation, cause: unknown, expired: boolean): PubringError
  retries: number
  timeout: number
}

/** A transport for the service. Throws where the address or the API key cannot be used. */
export function createTransport(options: ClientOptions): Transport {
  const { retries = 3, timeout = 30_000 } = options
  const base = baseUrl(options.url)
  const always = standingHeaders(options)
  const apiKey = options.apiKey === undefined ? undefined : apiKeyText(options.apiKey)
  const call = options.fetch ?? ((input, init) => fetch(input, init))

  function request(operation: Operation, signal: AbortSignal): Promise<Response> {
    const { method, body, access } = operation
    const headers: Record<string, string> = { ...always, ...operation.headers }
    if (apiKey !== undefined && access !== 'public') headers['x-api-key'] = apiKey
    if (body !== undefined) headers['content-type'] = 'application/json'
    const init: RequestInit = { method, headers, signal, redirect: 'manual', credentials: 'omit' }
    if (body !== undefined) init.body = JSON.stringify(body)
    return call(addressOf(base, operation), init)
  }
  const asked = (operation: Operation): Asked => {
    const { method, list = false } = operation
    return { method, url: addressOf(base, operation), base, list }
  }
  const transport: Transport = {
    url: base,
    retries,
    timeout,
    failure: (operation, cause, expired) => failure(asked(operation), operation, cause, expired),
    async open(operation, signal) {
      const response = await request(operation, signal)
      refuseRedirect(response, asked(operation))
      if (response.ok) return response
      throw refusal(response, await response.text(), asked(operation))
    },
    send: (operation) => persist(transport, operation, () => once(operation)),
  }
  async function once(operation: Operation): Promise<Answer> {
    const limit = deadline(timeout, operation.signal)
    try {
      return await readAnswer(await request(operation, limit.signal), asked(operation))
    } catch (error) {
      throw transport.failure(operation, error, limit.expired())
    } finally {
      limit.clear()
    }
  }
  return transport
}

function standingHeaders({ userAgent }: ClientOptions): Record<string, string> {
  const accept = { accept: 'application/json' }
  return userAgent === undefined ? accept : { ...accept, 'user-agent': userAgent }
}

function addressOf(base: string, { path, query = {} }: Operation): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value))
  }
  return parameters.size === 0 ? `${base}${path}` : `${base}${path}?${parameters}`
}

/** Tries again while that is safe and there is hope. */
async function persist(
  transport: Transport,
  operation: Operation,
  once: () => Promise<Answer>,
): Promise<Answer> {
  let unclear: PubringError | undefined
  for (let repetition = 0; ; repetition += 1) {
    try {
      return await once()
    } catch (error) {
      if (!(error instanceof PubringError)) throw error
      if (unclear !== undefined && wasDone(operation, error)) return noContent
      if (unclear !== undefined && error.code === 'precondition_failed') throw unclear
      if (repetition >= transport.retries || !mayRepeat(error, operation.repeatable)) throw error
      if (isUnclear(error)) unclear ??= error
      await rest(transport, operation, pauseBefore(repetition, error.retryAfter))
    }
  }
}

const noContent: Answer = { status: 204, headers: new Headers(), body: undefined }

/** After an unclear deletion, that the very thing is not found says that it was deleted. */
function wasDone({ method, path }: Operation, { code }: PubringError): boolean {
  if (method !== 'DELETE') return false
  if (path.includes('/jwt-keys/')) return code === 'key_not_found'
  return code === 'project_not_found' || code === 'api_key_not_found'
}

async function rest(transport: Transport, operation: Operation, time: number): Promise<void> {
  try {
    await pause(time, operation.signal)
  } catch (cause) {
    throw transport.failure(operation, cause, false)
  }
}

function failure(asked: Asked, operation: Operation, cause: unknown, expired: boolean) {
  if (cause instanceof PubringError) return cause
  if (operation.signal?.aborted) {
    return new PubringError('aborted', 'The request was ended by its caller.', { cause })
  }
  const unclear = operation.repeatable === 'always' ? '' : ` ${whatIsUnclear}`
  if (expired) {
    const message = `${asked.base} has not answered in time.${unclear}`
    return new PubringError('timeout', message, { cause })
  }
  const message = `${asked.base} cannot be reached (${reasonOf(cause)}). Check the address, and that the service runs.${unclear}`
  return new PubringError('unreachable', message, { cause })
}

const whatIsUnclear =
  'Whether it did what was asked is not known: look before you ask for it again.'
