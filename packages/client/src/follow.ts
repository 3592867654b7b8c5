import { PubringError } from './errors.ts'
import { createEventParser, type ServerSentEvent } from './event-parser.ts'
import { readList } from './operations.ts'
import type { CallOptions } from './options.ts'
import { createDeadline, sleep } from './transport/deadline.ts'
import { mayRetry, retryDelayMs } from './transport/retry.ts'
import { textChunks } from './transport/text-chunks.ts'
import type { Operation, Transport } from './transport/transport.ts'
import type { Event } from './types.ts'

/** The position of an event, `REVISION.HASH8`. */
export function positionOf({ revision, hash }: Pick<Event, 'revision' | 'hash'>): string {
  return `${revision}.${hash.slice(0, 8)}`
}

/** A stream that is silent for longer is considered dead; the service sends every 15 seconds. */
const maxSilenceMs = 45_000

/** Where one `followEvents` call stands, across its connections. */
type Position = { lastEventId: string; reconnectMs: number; connected: boolean }

/** One stream: the ledger's path and the caller's signal. */
type Stream = { transport: Transport; path: string; signal: AbortSignal | undefined }

/** See `follow` of `eventOperations`. */
export async function* followEvents(
  transport: Transport,
  path: string,
  { signal, after = 0 }: CallOptions & { after?: number | string },
): AsyncGenerator<Event, void, undefined> {
  const stream: Stream = { transport, path, signal }
  const position: Position = { lastEventId: String(after), reconnectMs: 0, connected: false }
  for (let failures = 0; ; failures += 1) {
    let retryAfter = 0
    try {
      for await (const { event, data } of connect(stream, position)) {
        failures = 0
        yield parseEvent(data)
        if (event === 'project.deleted' && path !== systemPath) return
      }
      if (await isProjectDeleted(stream, position.lastEventId)) return
    } catch (error) {
      if (!(error instanceof PubringError) || !mayRetry(error, 'always')) throw error
      if (!position.connected && failures >= transport.retries) throw error
      retryAfter = error.retryAfter ?? 0
    }
    const reconnectMs = failures === 0 ? 0 : position.reconnectMs
    await sleep(retryDelayMs(failures, retryAfter) + reconnectMs, signal).catch((cause) => {
      throw transport.toError(streamOperation(stream, position.lastEventId), cause)
    })
  }
}

function parseEvent(data: string): Event {
  try {
    return JSON.parse(data)
  } catch (cause) {
    const message =
      'An event in the stream is not JSON. Check that this is the address of your Pubring server.'
    throw new PubringError('unexpected_response', message, { cause })
  }
}

/** Rejects a web page in place of the stream, which would look like a stream that ends at once. */
function requireEventStream({ headers, body, status }: Response, url: string): void {
  if (headers.get('content-type')?.startsWith('text/event-stream')) return
  void body?.cancel()
  const message = `${url} does not respond with an event stream. Check that it is the address of your Pubring server.`
  throw new PubringError('unexpected_response', message, { status })
}

function historyChanged(): PubringError {
  return new PubringError(
    'history_changed',
    'The events you have belong to a history that was discarded: the database was restored. Drop them and follow the ledger from its start.',
  )
}

export const systemPath = '/events'

function streamOperation({ path, signal }: Stream, lastEventId: string): Operation {
  const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId }
  return { method: 'GET', path, headers, signal, retry: 'always' }
}

/** The events of one connection, until it ends. */
async function* connect(
  stream: Stream,
  position: Position,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { transport, signal } = stream
  const operation = streamOperation(stream, position.lastEventId)
  const silence = createDeadline(maxSilenceMs, signal)
  try {
    const response = await transport.open(operation, silence.signal)
    requireEventStream(response, transport.url)
    position.connected = true
    const parse = createEventParser()
    for await (const chunk of textChunks(response)) {
      silence.restart()
      const { events, retryMs } = parse(chunk)
      position.reconnectMs = retryMs ?? position.reconnectMs
      for (const event of events) {
        if (event.event === 'reset') throw historyChanged()
        position.lastEventId = event.id ?? position.lastEventId
        yield event
      }
    }
  } catch (cause) {
    throw transport.toError(operation, cause, silence.expired())
  } finally {
    silence.clear()
  }
}

/**
 * Whether the event at the position is the last of the ledger and says that the project was deleted:
 * no other will follow.
 */
async function isProjectDeleted(stream: Stream, lastEventId: string): Promise<boolean> {
  const { transport, path, signal } = stream
  if (path === systemPath) return false
  const operation = readList(path, { order: 'desc', limit: 1 })
  const { body } = await transport.send({ ...operation, signal })
  const [newest] = body as Event[]
  if (newest?.type !== 'project.deleted') return false
  return [String(newest.revision), positionOf(newest)].includes(lastEventId)
}
