import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { type Access, auditAccess, permits } from '../../../kernel/access/grants.ts'
import { Type } from '../../../kernel/contract.ts'
import { ledgerOf, principalOf } from '../../../kernel/http/hooks/access.ts'
import type { App } from '../../../kernel/http/options.ts'
import { prefers } from '../../../kernel/http/request/headers.ts'
import { maxPageSize } from '../../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { systemLedgerId } from '../../../kernel/ledger/chain.ts'
import { type LedgerPosition, parsePosition, readHistory } from '../../../kernel/ledger/position.ts'
import { Event } from '../contract.ts'
import { toEvent } from '../operations.ts'
import { jsonLines, sendExport } from './export.ts'
import { historyChanged } from './faults.ts'
import {
  type EventQuery,
  eventQuery,
  nextQuery,
  readEventQuery,
  requireUnfiltered,
} from './query.ts'
import { sendEvents } from './stream.ts'

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
  const reader = { role: 'reader', auditor: true } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/projects/:projectIdOrName/events',
    config: { access: reader, ledger: true, ...sharedConfig },
    schema: {
      ...sharedSchema,
      operationId: 'listEvents',
      summary: 'Read the ledger of a project',
      description: `Returns every change to the project and its keys, in order and without gaps. ${streamDescription} The ledger of a deleted project stays readable by id for admins and auditors of all projects.`,
    },
    handler: async (request, reply) => {
      await respond(kernel, request, reply, { ledgerId: ledgerOf(request), access: reader })
      return reply
    },
  })
  const auditor = { role: 'admin', unbound: true, auditor: true } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/events',
    config: { access: auditor, ...sharedConfig },
    schema: {
      ...sharedSchema,
      operationId: 'listSystemEvents',
      summary: 'Read the ledger of the registry',
      description: `Returns every change to projects and API keys, in order and without gaps. ${streamDescription}`,
    },
    handler: async (request, reply) => {
      await respond(kernel, request, reply, { ledgerId: systemLedgerId, access: auditor })
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
