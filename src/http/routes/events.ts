import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Event } from '../../contract/events.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import { toEvent } from '../../core/ledger/events.ts'
import type { LiveServices } from '../../core/publishing/live.ts'
import type { Access } from '../../core/records.ts'
import { PubringError } from '../../errors.ts'
import { ledgerOf } from '../hooks/access.ts'
import type { App, HttpOptions } from '../options.ts'
import { prefers } from '../request/accept.ts'
import { defaultMaxPageSize, ProjectPath, Query } from '../request/paths.ts'
import { sendEvents } from './event-stream.ts'

const tags = ['Events']

/** Events per page without `limit`. */
const pageSize = 50

const eventStream = 'text/event-stream'

const pageQuery = (maximum: number) =>
  Query({
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        default: 0,
        description: 'Revision of the last event that you have; the page starts after it.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum,
        default: pageSize,
        description: 'Events per page. Ignored by streams.',
      }),
    ),
  })

const StreamHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.String({
      description:
        'For streams: revision of the last event that you have. Takes precedence over `after`.',
      examples: ['7'],
    }),
  ),
})

const streamMediaType = {
  [eventStream]: Type.String({
    description:
      'Server-sent events: `id` is the revision, `event` the type, `data` the Event as JSON. A comment is sent every 15 seconds as a heartbeat.',
  }),
}

const sharedSchema = ({ maxPageSize = defaultMaxPageSize }: HttpOptions) => ({
  tags,
  querystring: pageQuery(maxPageSize),
  headers: StreamHeaders,
  response: { 200: Type.Array(Event) },
})

const streamDescription =
  'With `Accept: text/event-stream` the response is a stream of events as they happen. The server closes a stream whose reader accepts no data for 10 seconds, or whose API key loses access. A client that reconnects with `Last-Event-ID` misses no event.'

export function eventRoutes(app: App, live: LiveServices, options: HttpOptions): void {
  projectRoute(app, live, options)
  systemRoute(app, live, options)
}

function projectRoute(app: App, live: LiveServices, options: HttpOptions): void {
  const access = { role: 'reader' } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/projects/:projectIdOrName/events',
    config: {
      access,
      ledger: true,
      errors: ['overloaded'],
      headers: ['Link'],
      mediaTypes: streamMediaType,
    },
    schema: {
      ...sharedSchema(options),
      operationId: 'listEvents',
      summary: 'Read the ledger of a project',
      description: `Returns every change to the project and its keys, in order and without gaps. ${streamDescription} The ledger of a deleted project stays readable by id for an admin API key for all projects.`,
      params: ProjectPath,
    },
    handler: async (request, reply) => {
      const ledger = { ledgerId: ledgerOf(request), access, publicUrl: options.publicUrl }
      await respond(live, request, reply, ledger)
      return reply
    },
  })
}

function systemRoute(app: App, live: LiveServices, options: HttpOptions): void {
  const access = { role: 'admin', unbound: true } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/events',
    config: { access, errors: ['overloaded'], headers: ['Link'], mediaTypes: streamMediaType },
    schema: {
      ...sharedSchema(options),
      operationId: 'listSystemEvents',
      summary: 'Read the ledger of the registry',
      description: `Returns every change to projects and API keys, in order and without gaps. ${streamDescription}`,
    },
    handler: async (request, reply) => {
      const ledger = { ledgerId: systemLedgerId, access, publicUrl: options.publicUrl }
      await respond(live, request, reply, ledger)
      return reply
    },
  })
}

async function respond(
  live: LiveServices,
  request: FastifyRequest<{ Querystring: { after?: number; limit?: number } }>,
  reply: FastifyReply,
  { publicUrl, ...ledger }: { ledgerId: string; access: Access; publicUrl: string },
): Promise<void> {
  const { after = 0, limit = pageSize } = request.query
  const wantsStream = prefers(request.headers.accept, eventStream, 'application/json')
  if (wantsStream && request.method === 'GET') {
    sendEvents(live, request, reply, { ...ledger, after: lastEventId(request) ?? after })
    return
  }
  const { store } = live.context
  const found = await store.events(ledger.ledgerId, { after, limit: limit + 1 })
  const shown = found.slice(0, limit).map(toEvent)
  if (found.length > limit) {
    const path = ledger.ledgerId === systemLedgerId ? '/v1' : `/v1/projects/${ledger.ledgerId}`
    const next = `${publicUrl}${path}/events?limit=${limit}&after=${shown.at(-1)?.revision}`
    reply.header('link', `<${next}>; rel="next"`)
  }
  reply.header('vary', 'Accept').send(shown)
}

/** The revision in `Last-Event-ID`, which a reconnecting client sends; undefined if empty. */
function lastEventId(request: FastifyRequest): number | undefined {
  const text = [request.headers['last-event-id']].flat().join(',').trim()
  if (text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new PubringError(
    'invalid_request',
    'Last-Event-ID must be the revision of an event: a whole number in digits.',
  )
}
