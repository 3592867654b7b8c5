import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { containsApiKey } from '../../core/redaction.ts'
import { errorTable, PubringError } from '../../errors.ts'
import type { HttpOptions } from '../options.ts'
import { toPubringError } from './faults.ts'
import { lingering } from './lingering.ts'
import { renderProblem } from './problem.ts'

/** Every error of every route goes out here, in the one form. */
export function addErrors(app: FastifyInstance, options: HttpOptions): void {
  app.setErrorHandler((error, request, reply) => {
    const bodyLimit = request.routeOptions.bodyLimit ?? options.bodyLimit
    const problem = problemOf(error, request.raw.url, { bodyLimit })
    request.problem = problem
    logFault(request, problem)
    const { status, headers, body } = renderProblem(problem, request.id, options.publicUrl)
    // Fastify closes the connection after any fault in a body; one that was read whole is harmless.
    if (request.raw.complete) reply.removeHeader('connection')
    reply.code(status).headers(headers)
    return reply.send(
      problem.code === 'body_too_large' ? lingering(request.raw, body) : Buffer.from(body),
    )
  })
}

/** A secret in an address is in the logs of whatever the address went through: its owner must know. */
function problemOf(
  error: unknown,
  address: string | undefined,
  options: Pick<HttpOptions, 'bodyLimit'>,
): PubringError {
  const problem = toPubringError(error, { body: options.bodyLimit })
  if (!containsApiKey(address ?? '')) return problem
  const { code, message, extras, cause } = problem
  return new PubringError(code, `${message} ${advice}`, extras, cause)
}

const advice =
  'There is an API key in the address of this request, and addresses are logged on their way: count it as known to others, revoke it, and send the next one in the X-Api-Key header.'

/** Faults of ours are logged with their cause; those of a caller are in the request's line alone. */
function logFault(request: Pick<FastifyRequest, 'log'>, problem: PubringError): void {
  if (errorTable[problem.code].status < 500) return
  request.log.error({ err: problem.cause ?? problem, code: problem.code }, problem.message)
}

/** Requests that Fastify refuses before any route, such as broken percent-encoding in the address. */
export function answerFrameworkError(
  error: unknown,
  request: Pick<FastifyRequest, 'id' | 'method' | 'log' | 'raw'>,
  response: ServerResponse,
  options: HttpOptions,
): void {
  const problem = problemOf(error, request.raw.url, options)
  const { status, headers, body } = renderProblem(problem, request.id, options.publicUrl)
  logFault(request, problem)
  request.log.info({ method: request.method, status, code: problem.code }, 'request')
  response.writeHead(status, headers).end(body)
}
