import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, errorTable, PubringError } from '../../errors.ts'
import type { Problem } from '../contract.ts'
import { containsApiKey } from '../exposure/redaction.ts'
import { newId } from '../values/ids.ts'
import { maxBodyBytes } from './body/bodies.ts'
import { toPubringError } from './faults.ts'
import type { Connections } from './hooks/connections.ts'
import { STATUS_CODES } from './node-http.ts'
import type { HttpOptions } from './options.ts'
import { expectsContinue } from './request/headers.ts'

/** Renders the errors of all routes as problem details. */
export function addErrors(app: FastifyInstance, options: HttpOptions): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = recordProblem(error, request)
    const response = renderProblem(problem, request.id, options.publicUrl)
    return sendError(request, reply, problem, response)
  })
}

/** The problem that the request ends with, which is logged if it is a fault of the server. */
export function recordProblem(error: unknown, request: FastifyRequest): PubringError {
  const bodyLimit = request.routeOptions.bodyLimit ?? maxBodyBytes
  const problem = problemOf(error, request.raw.url, bodyLimit)
  request.problem = problem
  const isCounted = request.server.countedLog.writeExpected(problem, request.log)
  if (!isCounted) logFault(request, problem)
  return problem
}

export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  { code }: PubringError,
  { status, headers, body }: RenderedError,
): FastifyReply {
  // Fastify closes the connection after a body error; that is needless if the body was read.
  if (request.raw.complete) reply.removeHeader('connection')
  reply.code(status).headers(headers)
  // A client that awaits a 100 may send its body or not, so what follows could be either the body or
  // another request (RFC 9110 section 10.1.1).
  const mayOmitBody = expectsContinue(request.raw) && !request.raw.complete
  if (mayOmitBody) reply.raw.shouldKeepAlive = false
  const mayBeSending = mayOmitBody || code === 'body_too_large'
  return reply.send(mayBeSending ? lingeringResponse(request.raw, body) : Buffer.from(body))
}

/** The problem to send, with a warning if the URL contains an API key. */
function problemOf(error: unknown, url: string | undefined, bodyLimit: number): PubringError {
  const problem = toPubringError(error, bodyLimit)
  if (!containsApiKey(url ?? '')) return problem
  const { code, message, extras, cause } = problem
  return new PubringError(code, `${message} ${advice}`, extras, cause)
}

const advice =
  'The URL of this request contains an API key, and proxies log URLs: treat the key as compromised, revoke it, and send the next one in the X-Api-Key header.'

/**
 * Logs unexpected errors with their cause and stack; a caller's errors appear only in the request's
 * log line.
 */
function logFault(request: Pick<FastifyRequest, 'log'>, problem: PubringError): void {
  if (problem.code !== 'internal') return
  request.log.error({ err: problem.cause ?? problem, code: problem.code }, problem.message)
}

interface ReceivedRequest {
  request: IncomingMessage
  response: ServerResponse
  requestId: string
}

/**
 * Sends the problem for a request that no route handles, because it violates the protocol or its URL is
 * malformed, and closes the connection.
 */
export function sendFault(
  app: FastifyInstance,
  error: unknown,
  { request, response, requestId }: ReceivedRequest,
  { publicUrl }: HttpOptions,
): void {
  const arrival = performance.now()
  const problem = problemOf(error, request.url, maxBodyBytes)
  logFault(app, problem)
  const { status, headers, body } = renderProblem(problem, requestId, publicUrl)
  response.shouldKeepAlive = false
  response.once('finish', () => {
    const record = { requestId, method: request.method ?? '', route: undefined, wasHeld: false }
    app.requestRecords.report({ ...record, status, problem, ms: performance.now() - arrival })
  })
  lingeringResponse(request, body).pipe(response.writeHead(status, headers))
}

/** Errors of Node's HTTP parser. */
const parserFaults: Record<string, { code: ErrorCode; detail: string }> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers_too_large',
    detail: 'The URL and the headers together are too large. Send fewer or shorter ones.',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    code: 'body_too_large',
    detail: 'The chunk extensions of the body are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request_timeout',
    detail: 'The request did not arrive in time. Send it again.',
  },
}

const malformed = {
  code: 'invalid_request',
  detail: 'This is not a valid HTTP/1.1 request.',
} as const

/**
 * Sends a problem for requests that Node rejects before Fastify sees them. While responses to
 * earlier pipelined requests are pending, nothing is written, because the client would take it for
 * one of them; the last of them closes the connection (RFC 9112 section 9.3.2).
 */
export function clientErrorHandler(
  publicUrl: string,
  connections: Connections,
  log: () => FastifyBaseLogger,
): (error: Error & { code?: string }, socket: Socket) => void {
  const rejected = new WeakSet<Socket>()
  return (error, socket) => {
    // The rest of a rejected request is read and ignored: closing with unread data would drop the
    // response, and an unread connection does not report a disconnect.
    if (rejected.has(socket)) return
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    rejected.add(socket)
    const { code, detail } = parserFaults[error.code ?? ''] ?? malformed
    const last = connections.pendingResponses(socket).at(-1)
    if (last !== undefined) {
      // Adds `Connection: close` unless its headers are sent already.
      last.shouldKeepAlive = false
      last.once('finish', () => lingeringClose(socket))
      log().info({ code }, 'invalid data after a pipelined request')
      return
    }
    const requestId = newId()
    lingeringClose(socket, rawResponse(new PubringError(code, detail), requestId, publicUrl))
    log().info({ requestId, status: errorTable[code].status, code }, 'request')
  }
}

function lingeringClose(socket: Socket, response = ''): void {
  socket.end(response)
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

function rawResponse(problem: PubringError, requestId: string, publicUrl: string): string {
  const { status, headers, body } = renderProblem(problem, requestId, publicUrl)
  const lines = Object.entries({ ...headers, connection: 'close' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`
}

type ProblemMembers = { [Name in keyof Problem]: Problem[Name] | undefined }

/** A complete response, sent through Fastify or written to a bare socket. */
export interface RenderedError {
  status: number
  headers: Record<string, string>
  body: string
}

/**
 * RFC 9110 section 11.6.1 requires a challenge in every 401. No registered scheme covers a custom
 * header, so this scheme is our own and its parameter names the header.
 */
const challenge = 'ApiKey realm="pubring", header="X-Api-Key"'

/** The `type` of a problem: the page on this server that explains the code. */
export function problemType(publicUrl: string, code: ErrorCode): string {
  return `${publicUrl}/docs/errors#${code}`
}

/** Renders an error as RFC 9457 problem details that must not be cached. */
export function renderProblem(
  error: PubringError,
  requestId: string,
  publicUrl: string,
): RenderedError {
  const { code, message: detail, extras } = error
  const { status, title } = errorTable[code]
  const { allow, retryAfter, errors, kid, limit, heldUntil, endTime, next } = extras
  const problem = { type: problemType(publicUrl, code), title, status, detail, code, requestId }
  // JSON has none of the members that are undefined.
  const members: ProblemMembers = { ...problem, errors, kid, limit, heldUntil, endTime, next }
  const body = JSON.stringify(members)
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      ...(status === 401 ? { 'www-authenticate': challenge } : {}),
      ...(allow === undefined ? {} : { allow: allow.join(', ') }),
      ...(status === 503 || status === 429 ? { 'retry-after': String(retryAfter ?? 1) } : {}),
    },
    body,
  }
}

/** How long the rest of a rejected request is read and discarded. */
const lingerMs = 2_000

/**
 * The response to a request whose body is rejected. It is sent at once but ends only after the rest
 * of the body has been discarded, or after a timeout: closing a socket with unread data makes TCP
 * drop the response (RFC 9112 section 9.6).
 */
function lingeringResponse(request: IncomingMessage, body: string): Readable {
  const response = new Readable({ read() {} })
  response.push(body)
  const timer = setTimeout(end, lingerMs)
  function end(): void {
    clearTimeout(timer)
    if (!response.readableEnded && !response.destroyed) response.push(null)
  }
  request.once('end', end).once('close', end).once('error', end)
  request.resume()
  return response
}
