import type { Call } from './task.ts'

/** A call as the bytes to send and what to expect back. */
export interface PreparedCall {
  request: Buffer
  status: number
  body: Buffer | undefined
  length: number | undefined
  part: string | undefined
}

export function prepareCall({ method, path, headers, body, expected }: Call): PreparedCall {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...fields, ...length, '', '']
  const expectedBody = expected.body === undefined ? undefined : Buffer.from(expected.body)
  return {
    request: Buffer.from(head.join('\r\n') + (body ?? '')),
    status: expected.status,
    body: expectedBody,
    length: expectedBody?.length ?? expected.length,
    part: expected.part,
  }
}

export interface ParsedResponse {
  status: number
  /** Where the body starts and ends in the received bytes. */
  start: number
  end: number
}

const headEnd = Buffer.from('\r\n\r\n')

/** The response at the start of the received bytes; undefined while it is incomplete. */
export function parseResponse(received: Buffer): ParsedResponse | undefined {
  const at = received.indexOf(headEnd)
  if (at < 0) return undefined
  const head = received.toString('latin1', 0, at)
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  const start = at + headEnd.length
  const end = start + Number(length)
  return received.length < end ? undefined : { status: Number(head.slice(9, 12)), start, end }
}

/** How the response differs from the expected one; undefined if it does not. */
export function findMismatch(
  call: PreparedCall,
  received: Buffer,
  { status, start, end }: ParsedResponse,
): string | undefined {
  const excerpt = () => received.toString('utf8', start, Math.min(end, start + 300))
  if (received.length !== end) return `bytes after the end of the response: ${excerpt()}`
  if (status !== call.status) return `status ${status}, not ${call.status}: ${excerpt()}`
  if (call.length !== undefined && end - start !== call.length) {
    return `${end - start} bytes, not ${call.length}: ${excerpt()}`
  }
  if (
    call.body !== undefined &&
    received.compare(call.body, 0, call.body.length, start, end) !== 0
  ) {
    return `another body: ${excerpt()}`
  }
  if (call.part !== undefined && !received.includes(call.part, start)) {
    return `no ${call.part} in the body: ${excerpt()}`
  }
  return undefined
}
