import type { Call } from './task.ts'

/** A call as it goes over the line, and the octets that are to come back. */
export interface PreparedCall {
  request: Buffer
  status: number
  body: Buffer | undefined
  length: number | undefined
  part: string | undefined
}

export function prepare({ method, path, headers, body, expected }: Call): PreparedCall {
  const sent = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...fields, ...sent, '', '']
  const right = expected.body === undefined ? undefined : Buffer.from(expected.body)
  return {
    request: Buffer.from(head.join('\r\n') + (body ?? '')),
    status: expected.status,
    body: right,
    length: right?.length ?? expected.length,
    part: expected.part,
  }
}

export interface Answer {
  status: number
  /** Where the body begins and ends in what was received. */
  begin: number
  end: number
}

const headEnd = Buffer.from('\r\n\r\n')

/** The answer at the beginning of what was received; undefined while it is not there as a whole. */
export function readAnswer(received: Buffer): Answer | undefined {
  const at = received.indexOf(headEnd)
  if (at < 0) return undefined
  const head = received.toString('latin1', 0, at)
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  const begin = at + headEnd.length
  const end = begin + Number(length)
  return received.length < end ? undefined : { status: Number(head.slice(9, 12)), begin, end }
}

/** What is wrong with the answer, in a few words; undefined where it is the expected one. */
export function faultOf(call: PreparedCall, received: Buffer, answer: Answer): string | undefined {
  const { status, begin, end } = answer
  const shown = () => received.toString('utf8', begin, Math.min(end, begin + 300))
  if (received.length !== end) return `octets after the end of the answer: ${shown()}`
  if (status !== call.status) return `status ${status}, not ${call.status}: ${shown()}`
  if (call.length !== undefined && end - begin !== call.length) {
    return `${end - begin} octets, not ${call.length}: ${shown()}`
  }
  if (
    call.body !== undefined &&
    received.compare(call.body, 0, call.body.length, begin, end) !== 0
  ) {
    return `another body: ${shown()}`
  }
  if (call.part !== undefined && !received.includes(call.part, begin)) {
    return `no ${call.part} in the body: ${shown()}`
  }
  return undefined
}
