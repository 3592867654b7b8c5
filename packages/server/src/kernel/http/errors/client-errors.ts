import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { type ErrorCode, errorTable, PubringError } from '../../../errors.ts'
import { newId } from '../../values/ids.ts'
import type { Connections } from '../hooks/connections.ts'
import { STATUS_CODES } from '../node-http.ts'
import { lingerMs } from './lingering.ts'
import { renderProblem } from './problem.ts'

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
