import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Call } from '../load/task.ts'

/** A recorded response, to be compared with or replayed. */
export interface CapturedResponse {
  status: number
  /** Names and values in turn, without the headers that node:http adds itself. */
  headers: string[]
  body: string
}

const addedByNode = new Set(['date', 'connection', 'keep-alive'])

/** Sends the request once and records the response. */
export async function capture(
  port: number,
  { method, path, headers, body }: Omit<Call, 'expected'>,
): Promise<CapturedResponse> {
  const sent = request({ port, host: '127.0.0.1', method, path, headers })
  sent.end(body)
  const [response] = await once(sent, 'response')
  const raw: string[] = response.rawHeaders
  const kept = raw.flatMap((name, index) =>
    index % 2 === 0 && !addedByNode.has(name.toLowerCase()) ? [name, raw[index + 1] ?? ''] : [],
  )
  return { status: response.statusCode, headers: kept, body: await text(response) }
}

/** The request with its present response as the only acceptable one. */
export async function captureCall(port: number, request: Omit<Call, 'expected'>): Promise<Call> {
  const { status, body } = await capture(port, request)
  if (status >= 400) throw new Error(`${request.path} answers ${status}: ${body}`)
  return { ...request, expected: { status, body } }
}
