import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** Milliseconds for which the rest of a refused body is still read and thrown away. */
const patience = 2000

/**
 * The answer to a request whose body is not wanted. The answer goes out whole at once; the
 * connection is closed only when the rest of the body has been thrown away, or after a while:
 * closing a socket with unread data in it makes TCP drop the answer too (RFC 9112 section 9.6).
 */
export function lingering(request: IncomingMessage, body: string): Readable {
  const answer = new Readable({ read() {} })
  answer.push(body)
  const timer = setTimeout(end, patience)
  function end(): void {
    clearTimeout(timer)
    if (!answer.readableEnded && !answer.destroyed) answer.push(null)
  }
  request.once('end', end).once('close', end).once('error', end)
  request.resume()
  return answer
}
