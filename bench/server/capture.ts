import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Call } from '../load/task.ts'

/** A real answer, to be sent again as it is. */
export interface Captured {
  status: number
  /** Names and values in turn, without those that node:http writes by itself. */
  headers: string[]
  body: string
}

const written = new Set(['date', 'connection', 'keep-alive'])

/** Makes the request once. */
export async function capture(port: number, call: Omit<Call, 'expected'>): Promise<Captured> {
  const { method, path, headers } = call
  const sent = request({ port, host: '127.0.0.1', method, path, headers })
  sent.end(call.body)
  const [response] = await once(sent, 'response')
  const raw: string[] = response.rawHeaders
  const kept = raw.flatMap((name, index) =>
    index % 2 === 0 && !written.has(name.toLowerCase()) ? [name, raw[index + 1] ?? ''] : [],
  )
  return { status: response.statusCode, headers: kept, body: await text(response) }
}
