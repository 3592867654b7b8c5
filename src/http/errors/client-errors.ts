import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { newId } from '../../core/ids.ts'
import { type ErrorCode, errorTable, PubringError } from '../../errors.ts'
import type { Connections } from '../hooks/connections.ts'
import { STATUS_CODES } from '../node-http.ts'
import { renderProblem } from './problem.ts'

/** What Node's parser says about a request that never became one. */
const parserFaults: Record<string, { code: ErrorCode; detail: string }> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers_too_large',
    detail: 'The address and the headers together are too large. Send fewer or shorter ones.',
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

/** Milliseconds for which the rest of a refused request is still read and thrown away. */
const patience = 2_000

/**
 * Requests that Node refuses before Fastify sees them get the one form of error too. While answers
 * to the requests before it are owed, nothing is written: it would be taken for one of them. They
 * go out, the last one ends the connection, and what came after is passed over (RFC 9112 section
 * 9.3.2).
 */
export function clientErrorHandler(
  publicUrl: string,
  connections: Connections,
  log: () => FastifyBaseLogger,
): (error: Error & { code?: string }, socket: Socket) => void {
  const refused = new WeakSet<Socket>()
  return (error, socket) => {
    // The rest of what was refused is read and thrown away: closing with it unread would drop the
    // answer too, and a connection that is not read does not tell that its client went away.
    if (refused.has(socket)) return
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    refused.add(socket)
    const { code, detail } = parserFaults[error.code ?? ''] ?? malformed
    const last = connections.owed(socket).at(-1)
    if (last !== undefined) {
      // Where its head is not out yet, it says `Connection: close`.
      last.shouldKeepAlive = false
      last.once('finish', () => endPatiently(socket))
      log().info({ code }, 'what follows a request is none')
      return
    }
    const requestId = newId()
    endPatiently(socket, rawResponse(new PubringError(code, detail), requestId, publicUrl))
    log().info({ requestId, status: errorTable[code].status, code }, 'request')
  }
}

function endPatiently(socket: Socket, answer = ''): void {
  socket.end(answer)
  const timer = setTimeout(() => socket.destroy(), patience)
  socket.once('close', () => clearTimeout(timer))
}

function rawResponse(problem: PubringError, requestId: string, publicUrl: string): string {
  const { status, headers, body } = renderProblem(problem, requestId, publicUrl)
  const lines = Object.entries({ ...headers, connection: 'close' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`
}
