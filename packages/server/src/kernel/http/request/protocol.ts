import type { IncomingMessage } from 'node:http'
import { PubringError } from '../../../errors.ts'

/**
 * RFC 9110 section 7.2: a host, which may be empty, and a port. Node joins two Host lines with a
 * comma and a blank, which no host contains.
 */
const validHost = /^(?:\[[\w:.%~-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d{0,5})?$/i

/**
 * The fault that a server must reject in any request (RFC 9112 sections 2.3, 3.2 and 6.1) and Node's
 * parser accepts. Undefined if there is none.
 */
export function protocolFault({ headers, httpVersion }: IncomingMessage): PubringError | undefined {
  const { host, 'transfer-encoding': coding } = headers
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new PubringError('invalid_request', 'Send the request as HTTP/1.1.')
  }
  if (host === undefined && httpVersion === '1.1') {
    return new PubringError('invalid_request', 'An HTTP/1.1 request needs a Host header.')
  }
  if (host !== undefined && !validHost.test(host)) {
    return new PubringError(
      'invalid_request',
      'The Host header is not valid: send one, with the host and port of the URL.',
    )
  }
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    return new PubringError(
      'unsupported_transfer_encoding',
      'The only Transfer-Encoding accepted is chunked. Send the body without compression.',
    )
  }
  return undefined
}

/**
 * Whether the request asks for another protocol. The server does not change to one, but Node discards
 * what the client sends on this connection after the request.
 */
export function requestsUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '')
}

/** Whether the client sends the body only once it is asked for it (RFC 9110 section 10.1.1). */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
