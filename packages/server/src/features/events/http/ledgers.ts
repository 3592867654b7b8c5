import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { type Access, auditAccess, readerAccess } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { noPlace } from '../../../kernel/http/faults.ts'
import { ledgerOf, principalOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import { prefers } from '../../../kernel/http/request/headers.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { systemLedgerId } from '../../../kernel/ledger/chain.ts'
import {
  formatPosition,
  type LedgerPosition,
  parsePosition,
  readHistory,
} from '../../../kernel/ledger/position.ts'
import { Event } from '../contract.ts'
import { eventFeedOf } from '../feed.ts'
import { readPermission, toEvent } from '../operations.ts'
import { EventQuery, linkNext, readEventQuery, requireUnfiltered } from './query.ts'

const eventStream = 'text/event-stream'

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
}

const sharedConfig = {
  errors: ['history_changed'],
  headers: ['Link'],
  mediaTypes,
} satisfies FastifyContextConfig

const streamDescription =
  'Filters apply to the whole ledger. A request examines a bounded number of events, so a page may be short or empty and still have a `Link` with `rel="next"`: follow it until there is none. With `Accept: text/event-stream` the response is a stream of events as they happen. The server closes a stream whose reader accepts no data for 10 seconds, or whose API key loses access. A client that reconnects with `Last-Event-ID` misses no event.'

export function eventRoutes(app: App, kernel: Kernel): void {
  const sharedSchema = {
    querystring: EventQuery,
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
  const page = readEventQuery(query)
  const { ledgerId } = ledger
  if (method === 'GET' && prefers(headers.accept, eventStream)) {
    requireUnfiltered(query, page)
    return sendEvents(kernel, request, reply, {
      ...ledger,
      after: lastEventId(request) ?? page.after,
    })
  }
  const { store, config } = kernel
  const found = await readHistory(store.reader, ledgerId, page)
  if (found === 'history_changed') {
    throw new PubringError(
      'history_changed',
      'The ledger has no such event: `after` belongs to a history that was discarded, as by a restore of the database. Drop what you have and read the ledger from its start.',
    )
  }
  if (found.next !== undefined) {
    const path = ledgerId === systemLedgerId ? '/v1' : `/v1/projects/${ledgerId}`
    const { limit, after, before } = found.next
    linkNext(reply, `${config.publicUrl}${path}/events`, {
      ...{ ...query, limit },
      after: after.revision === 0 ? undefined : formatPosition(after),
      before: before && formatPosition(before),
    })
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

/** Throws `overloaded` if too many streams are open, and `rate_limited` if the caller has its share of them. */
function sendEvents(
  kernel: Kernel,
  request: FastifyRequest,
  reply: FastifyReply,
  { access, ledgerId, after }: { ledgerId: string; after: LedgerPosition; access: Access },
): void {
  const principal = principalOf(request)
  const { callerId } = principal
  const permission = () => readPermission(kernel, principal, access, ledgerId)
  const stream = eventFeedOf(kernel).open({ ledgerId, after, callerId, permission })
  if (typeof stream === 'string') throw noPlace(stream, refusals, 10)
  const { body, close } = stream
  const endWait = request.server.connections.startWait(request.raw.socket, close)
  if (endWait === undefined) {
    close()
    const detail =
      'Another request on this connection is already waiting. Open one connection per event stream.'
    throw new PubringError('overloaded', detail, { retryAfter: 1 })
  }
  body.once('error', (err) => request.log.error({ err }, 'an event stream failed'))
  body.once('close', () => {
    endWait()
    close()
  })
  reply
    .header('content-type', eventStream)
    .header('cache-control', 'no-store')
    .header('x-accel-buffering', 'no')
    .header('connection', 'close')
    .send(body)
}

const refusals = {
  full: 'Too many event streams are open. Try again later, or read the events in pages.',
  share_used_up:
    'Your API key or this project has its share of the event streams. Close one, or read the events in pages.',
}
