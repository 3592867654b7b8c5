import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { containsApiKey } from '../../exposure/redaction.ts'
import { maxBodyBytes } from '../body/bodies.ts'
import type { HttpOptions } from '../options.ts'
import { expectsContinue } from '../request/protocol.ts'
import { toPubringError } from './faults.ts'
import { lingeringResponse } from './lingering.ts'
import { type RenderedError, renderProblem } from './problem.ts'

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
