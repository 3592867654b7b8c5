import { Readable } from 'node:stream'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../../../async/places.ts'
import { PubringError } from '../../../errors.ts'
import { type Access, auditAccess, permits, readerAccess } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { noPlace } from '../../../kernel/http/faults.ts'
import { ledgerOf, principalOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import { prefers } from '../../../kernel/http/request/headers.ts'
import { maxPageSize } from '../../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { type LedgerEvent, systemLedgerId } from '../../../kernel/ledger/chain.ts'
import {
  type FoundPage,
  formatPosition,
  type HistoryRequest,
  type LedgerPosition,
  parsePosition,
  positionOf,
  readHistory,
} from '../../../kernel/ledger/position.ts'
import { Event } from '../contract.ts'
import { eventFeedOf } from '../feed.ts'
import { readPermission, toEvent } from '../operations.ts'
import type { EventSink, EventStream } from '../stream.ts'
import {
  type EventQuery,
  eventQuery,
  nextQuery,
  readEventQuery,
  requireUnfiltered,
} from './query.ts'

const eventStream = 'text/event-stream'
const jsonLines = 'application/x-ndjson'

const StreamHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.String({
      description:
        'For streams: `id` of the last event that you have. Takes precedence over `after`.',
      examples: ['7.1f0c9a3e'],
    }),
  ),
})

const mediaTypes = {
  [eventStream]: Type.String({
    description:
      'Server-sent events: `id` is `REVISION.HASH8`, `event` the type, `data` the Event as JSON. A `reset` event says that the events you have belong to a history that was discarded (the database was restored); the ledger follows from its first event. A comment is sent every 15 seconds as a heartbeat.',
  }),
  [jsonLines]: Type.String({
    description: 'All events that match, one JSON document per line: the Event, with `ledgerId`.',
  }),
}

const sharedConfig = {
  errors: ['history_changed'],
  headers: ['Link'],
  mediaTypes,
} satisfies FastifyContextConfig

const streamDescription =
  'Filters apply to the whole ledger. A request examines a bounded number of events, so a page may be short or empty and still have a `Link` with `rel="next"`: follow it until there is none. With `Accept: application/x-ndjson` the response has all events that match; it is complete if it ends, and is cut off otherwise. With `Accept: text/event-stream` the response is a stream of events as they happen. The server closes a stream whose reader accepts no data for 10 seconds, or whose API key loses access. A client that reconnects with `Last-Event-ID` misses no event.'

export function eventRoutes(app: App, kernel: Kernel): void {
  const sharedSchema = {
    querystring: eventQuery(maxPageSize),
    headers: StreamHeaders,
    response: { 200: Type.Array(Event) },
  }
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/projects/:projectIdOrName/events',
    config: { access: readerAccess, ledger: true, ...sharedConfig },
    schema: {
      ...sharedSchema,
      operationId: 'listEvents',
      summary: 'Read the ledger of a project',
      description: `Returns every change to the project and its keys, in order and without gaps. ${streamDescription} The ledger of a deleted project stays readable by id for admins and auditors of all projects.`,
    },
    handler: async (request, reply) => {
      await respond(kernel, request, reply, { ledgerId: ledgerOf(request), access: readerAccess })
      return reply
    },
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/events',
    config: { access: auditAccess, ...sharedConfig },
    schema: {
      ...sharedSchema,
      operationId: 'listSystemEvents',
      summary: 'Read the ledger of the registry',
      description: `Returns every change to projects and API keys, in order and without gaps. ${streamDescription}`,
    },
    handler: async (request, reply) => {
      await respond(kernel, request, reply, { ledgerId: systemLedgerId, access: auditAccess })
      return reply
    },
  })
}

async function respond(
  kernel: Kernel,
  request: FastifyRequest<{ Querystring: EventQuery }>,
  reply: FastifyReply,
  ledger: { ledgerId: string; access: Access },
): Promise<void> {
  const { query, method, headers } = request
  const readsEveryLedger = permits(principalOf(request).grants, auditAccess)
  const page = readEventQuery(query, readsEveryLedger)
  const { ledgerId } = ledger
  if (method === 'GET' && prefers(headers.accept, eventStream, 'application/json')) {
    requireUnfiltered(query, page)
    return sendEvents(kernel, request, reply, {
      ...ledger,
      after: lastEventId(request) ?? page.after,
    })
  }
  if (method === 'GET' && prefers(headers.accept, jsonLines, 'application/json')) {
    return sendExport(kernel, request, reply, { ...ledger, page })
  }
  const { store, config } = kernel
  const found = await readHistory(store.reader, ledgerId, page)
  if (found === 'history_changed') throw historyChanged()
  if (found.next !== undefined) {
    const path = ledgerId === systemLedgerId ? '/v1' : `/v1/projects/${ledgerId}`
    const next = `${config.publicUrl}${path}/events?${nextQuery(query, found.next)}`
    reply.header('link', `<${next}>; rel="next"`)
  }
  reply.header('vary', 'Accept').send(found.events.map(toEvent))
}

/** The position in `Last-Event-ID`, which a reconnecting client sends; undefined if empty. */
function lastEventId(request: FastifyRequest): LedgerPosition | undefined {
  const text = [request.headers['last-event-id']].flat().join(',').trim()
  if (text === '') return undefined
  const position = parsePosition(text)
  if (position !== undefined) return position
  throw new PubringError(
    'invalid_request',
    'Last-Event-ID must be the `id` of an event of the stream, such as 7.1f0c9a3e, or its revision in digits.',
  )
}

/** Events per read. */
const pageSize = 200

const lineOf = (event: LedgerEvent): string =>
  `${JSON.stringify({ ledgerId: event.ledgerId, ...toEvent(event) })}\n`

/**
 * Sends all events that match, as JSON lines, page by page as the client reads
 * them. The connection is closed before the end if a page cannot be read, if the caller loses access,
 * and at shutdown, so that an incomplete export is not taken for a whole one. Counts as an event stream.
 */
async function sendExport(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  { ledgerId, access, page }: ExportRequest,
): Promise<void> {
  const { store } = kernel
  const principal = principalOf(request)
  const release = eventFeedOf(kernel).reserve({ ledgerId, callerId: principal.callerId })
  if (typeof release === 'string') throw refusedStream(release)

  async function read(next: HistoryRequest): Promise<FoundPage> {
    const found = await readHistory(store.reader, ledgerId, { ...next, limit: pageSize })
    if (found === 'history_changed') throw historyChanged()
    return found
  }
  async function* text(first: FoundPage): AsyncGenerator<string> {
    for (let found = first; ; ) {
      yield found.events.map(lineOf).join('')
      if (found.next === undefined) return
      const permission = await readPermission(kernel, principal, access, ledgerId)
      const mayContinue = permission !== 'refused' && !request.server.readiness.shuttingDown
      if (!mayContinue) throw new Error('the export was cut off')
      found = await read(found.next)
    }
  }
  const first = await read(page).catch((error: unknown) => {
    release()
    throw error
  })
  const body = Readable.from(text(first), { objectMode: false })
  body.once('close', release)
  reply
    .header('content-type', `${jsonLines}; charset=utf-8`)
    .header('content-disposition', `attachment; filename="events-${ledgerId}.jsonl"`)
    .header('cache-control', 'no-store')
    .header('vary', 'Accept')
    .send(body)
}

interface ExportRequest {
  ledgerId: string
  access: Access
  page: HistoryRequest
}

/** Bytes buffered per reader, besides the page that is being sent. */
const bufferSize = 64 * 1024

/** How long a client should wait before it reconnects. */
const retryMs = 2_000

/**
 * Sends the ledger as server-sent events (HTML Living Standard, section 9.2): `id` is the position,
 * `event` the type, `data` the event. Throws `overloaded` if too many streams are open, and
 * `rate_limited` if the caller has its share of them.
 */
function sendEvents(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  ledger: { ledgerId: string; after: LedgerPosition; access: Access },
): void {
  let stream: EventStream | undefined
  const body = new Readable({ highWaterMark: bufferSize, read: () => stream?.resume() })
  const principal = principalOf(request)
  const sink: EventSink = {
    send: (events) => body.push(events.map(frame).join('')),
    reset: () => body.push(resetFrame),
    heartbeat: () => body.push(':\n\n'),
    permission: () => readPermission(kernel, principal, ledger.access, ledger.ledgerId),
    end(how, error) {
      if (error !== undefined) request.log.error({ err: error }, 'an event stream failed')
      if (how === 'complete') body.push(null)
      else body.destroy()
    },
  }
  const endWait = request.server.connections.startWait(request.raw.socket, () => stream?.close())
  if (endWait === undefined) {
    const detail =
      'Another request on this connection is already waiting. Open one connection per event stream.'
    throw new PubringError('overloaded', detail, { retryAfter: 1 })
  }
  body.once('close', () => {
    endWait()
    stream?.close()
  })
  body.push(`retry: ${retryMs}\n\n`)
  const { ledgerId, after } = ledger
  const opened = eventFeedOf(kernel).open({ ledgerId, after, callerId: principal.callerId }, sink)
  if (typeof opened === 'string') {
    endWait()
    throw refusedStream(opened)
  }
  stream = opened
  reply
    .header('content-type', 'text/event-stream')
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .header('connection', 'close')
    .send(body)
}

/** The empty `id` makes a client that reconnects now start again too. */
const resetFrame = `id:\nevent: reset\ndata: ${JSON.stringify({ code: 'history_changed' })}\n\n`

function frame(event: LedgerEvent): string {
  const data = JSON.stringify(toEvent(event))
  return `id: ${formatPosition(positionOf(event))}\nevent: ${event.type}\ndata: ${data}\n\n`
}

const refusals = {
  full: 'Too many event streams are open. Try again later, or read the events in pages.',
  share_used_up:
    'Your API key or this project has its share of the event streams. Close one, or read the events in pages.',
}

/** The error for a stream or an export that gets no place. */
function refusedStream(refusal: Refusal): PubringError {
  return noPlace(refusal, refusals, 10)
}

function historyChanged(): PubringError {
  return new PubringError(
    'history_changed',
    'The ledger has no such event: `after` belongs to a history that was discarded, as by a restore of the database. Drop what you have and read the ledger from its start.',
  )
}
