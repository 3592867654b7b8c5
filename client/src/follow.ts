import type { CallOptions } from './api.ts'
import { deadline, pause } from './deadline.ts'
import { PubringError } from './errors.ts'
import { eventParser, type ServerSentEvent } from './event-parser.ts'
import { mayRepeat, pauseBefore } from './retry.ts'
import { textsOf } from './text-chunks.ts'
import type { Operation, Transport } from './transport.ts'
import type { Event } from './types.ts'

/** Milliseconds of silence after which a stream is given up; the service speaks every 15 seconds. */
const longestSilence = 45_000

/** What a reader of a stream holds on to. */
type Reading = { last: number; retry: number; opened: boolean }

/**
 * The events after `after` and then each one as it happens, in order and without a gap, across cuts
 * and restarts of the service. Ends after `project.deleted`; throws `PubringError` where the first
 * connection fails, the service refuses, or `signal` is aborted.
 */
export async function* followEvents(
  transport: Transport,
  path: string,
  options: CallOptions & { after?: number },
): AsyncGenerator<Event, void, undefined> {
  const { signal } = options
  const reading: Reading = { last: options.after ?? 0, retry: 0, opened: false }
  for (let failures = 0; ; failures += 1) {
    let wished = 0
    try {
      for await (const { event, data } of connection(transport, path, reading, signal)) {
        failures = 0
        yield eventOf(data)
        if (event === 'project.deleted' && path !== systemPath) return
      }
      if (await isOver(transport, path, reading.last, signal)) return
    } catch (error) {
      const hopeless = !(error instanceof PubringError) || !mayRepeat(error, 'always')
      if (hopeless || (!reading.opened && failures >= transport.retries)) throw error
      wished = error.retryAfter ?? 0
    }
    const time = pauseBefore(failures, wished) + (failures === 0 ? 0 : reading.retry)
    await pause(time, signal).catch((cause) => {
      throw transport.failure(operationOf(path, reading.last, signal), cause, false)
    })
  }
}

function eventOf(data: string): Event {
  try {
    return JSON.parse(data)
  } catch (cause) {
    const message = 'An event of the stream is not JSON. Is this the address of your Pubring?'
    throw new PubringError('unexpected_response', message, { cause })
  }
}

/** A page in place of the stream would look like one that ends again and again. */
function refuseOther({ headers, body, status }: Response, base: string): void {
  if (headers.get('content-type')?.startsWith('text/event-stream')) return
  void body?.cancel()
  const message = `${base} answers with something else than an event stream. Is it the address of your Pubring?`
  throw new PubringError('unexpected_response', message, { status })
}

export const systemPath = '/events'

function operationOf(path: string, last: number, signal: AbortSignal | undefined): Operation {
  const headers = { accept: 'text/event-stream', 'last-event-id': String(last) }
  return { method: 'GET', path, headers, signal, repeatable: 'always' }
}

/** The events of one connection, until it ends. */
async function* connection(
  transport: Transport,
  path: string,
  reading: Reading,
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const operation = operationOf(path, reading.last, signal)
  const silence = deadline(longestSilence, signal)
  try {
    const response = await transport.open(operation, silence.signal)
    refuseOther(response, transport.url)
    reading.opened = true
    const parse = eventParser()
    for await (const text of textsOf(response)) {
      silence.restart()
      const { events, retry } = parse(text)
      reading.retry = retry ?? reading.retry
      for (const event of events) {
        reading.last = Number(event.id ?? reading.last)
        yield event
      }
    }
  } catch (cause) {
    throw transport.failure(operation, cause, silence.expired())
  } finally {
    silence.clear()
  }
}

/** Whether nothing can come any more: the last event there is says that the project is deleted. */
async function isOver(
  transport: Transport,
  path: string,
  last: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (path === systemPath || last === 0) return false
  const query = { after: last - 1, limit: 1 }
  const operation: Operation = {
    method: 'GET',
    path,
    query,
    signal,
    repeatable: 'always',
    list: true,
  }
  const { body } = await transport.send(operation)
  return Array.isArray(body) && body[0]?.type === 'project.deleted'
}
