import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Event } from '../../contract/events.ts'
import type { Access } from '../../core/access/grants.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import { toEvent } from '../../core/ledger/events.ts'
import {
  formatPosition,
  type LedgerPosition,
  ledgerStart,
  parsePosition,
  positionOf,
  positionPattern,
  readEventsAfter,
} from '../../core/ledger/position.ts'
import type { LiveServices } from '../../core/publishing/live.ts'
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
      Type.String({
        pattern: positionPattern,
        default: '0',
        examples: ['7', '7.1f0c9a3e'],
        description:
          'The last event that you have: its revision, or better `REVISION.HASH8` with the first 8 characters of its hash. The page starts after it. If the ledger has no such event, because the database was restored, the response is 409 `history_changed`.',
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
        'For streams: `id` of the last event that you have. Takes precedence over `after`.',
      examples: ['7.1f0c9a3e'],
    }),
  ),
})

const streamMediaType = {
  [eventStream]: Type.String({
    description:
      'Server-sent events: `id` is `REVISION.HASH8`, `event` the type, `data` the Event as JSON. A `reset` event says that the events you have belong to a history that was discarded (the database was restored); the ledger follows from its first event. A comment is sent every 15 seconds as a heartbeat.',
  }),
}

const sharedConfig = {
  errors: ['overloaded', 'history_changed'],
  headers: ['Link'],
  mediaTypes: streamMediaType,
} satisfies FastifyContextConfig

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
    config: { access, ledger: true, ...sharedConfig },
    schema: {
      ...sharedSchema(options),
      operationId: 'listEvents',
      summary: 'Read the ledger of a project',
      description: `Returns every change to the project and its keys, in order and without gaps. ${streamDescription} The ledger of a deleted project stays readable by id for an admin API key for all projects.`,
      params: ProjectPath,
    },
    handler: async (request, reply) => {
      await respond(live, request, reply, { ledgerId: ledgerOf(request), access })
      return reply
    },
  })
}

function systemRoute(app: App, live: LiveServices, options: HttpOptions): void {
  const access = { role: 'admin', unbound: true } as const
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/events',
    config: { access, ...sharedConfig },
    schema: {
      ...sharedSchema(options),
      operationId: 'listSystemEvents',
      summary: 'Read the ledger of the registry',
      description: `Returns every change to projects and API keys, in order and without gaps. ${streamDescription}`,
    },
    handler: async (request, reply) => {
      await respond(live, request, reply, { ledgerId: systemLedgerId, access })
      return reply
    },
  })
}

async function respond(
  live: LiveServices,
  request: FastifyRequest<{ Querystring: { after?: string; limit?: number } }>,
  reply: FastifyReply,
  ledger: { ledgerId: string; access: Access },
): Promise<void> {
  const { limit = pageSize } = request.query
  const after = parsePosition(request.query.after ?? '') ?? ledgerStart
  const wantsStream = prefers(request.headers.accept, eventStream, 'application/json')
  if (wantsStream && request.method === 'GET') {
    sendEvents(live, request, reply, { ...ledger, after: lastEventId(request) ?? after })
    return
  }
  const { store, config } = live.context
  const found = await readEventsAfter(store, ledger.ledgerId, after, limit + 1)
  if (found === 'history_changed') throw historyChanged()
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  if (found.length > limit && last !== undefined) {
    const path = ledger.ledgerId === systemLedgerId ? '/v1' : `/v1/projects/${ledger.ledgerId}`
    const next = `${config.publicUrl}${path}/events?limit=${limit}&after=${formatPosition(positionOf(last))}`
    reply.header('link', `<${next}>; rel="next"`)
  }
  reply.header('vary', 'Accept').send(shown.map(toEvent))
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

function historyChanged(): PubringError {
  return new PubringError(
    'history_changed',
    'The ledger has no such event: `after` belongs to a history that was discarded, as by a restore of the database. Drop what you have and read the ledger from its start.',
  )
}
