import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** How long the rest of a rejected request is read and discarded. */
export const lingerMs = 2_000

/**
 * The response to a request whose body is rejected. It is sent at once but ends only after the rest
 * of the body has been discarded, or after a timeout: closing a socket with unread data makes TCP
 * drop the response (RFC 9112 section 9.6).
 */
export function lingeringResponse(request: IncomingMessage, body: string): Readable {
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
