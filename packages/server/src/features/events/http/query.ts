import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { type FieldError, PubringError } from '../../../errors.ts'
import { Type } from '../../../kernel/contract.ts'
import { rejection } from '../../../kernel/faults.ts'
import { printableName, suggestedName } from '../../../kernel/http/faults.ts'
import { maxPageSize, Query } from '../../../kernel/http/request/parameters.ts'
import {
  eventPattern,
  type HistoryRequest,
  ledgerStart,
  parsePosition,
  positionPattern,
} from '../../../kernel/ledger/position.ts'
import { parseId } from '../../../kernel/values/ids.ts'
import { isoTime, parseTimeMs, year10000 } from '../../../kernel/values/times.ts'
import { present } from '../../../runtime/present.ts'
import { eventTypes } from '../types.ts'

/** Events per page without `limit`. */
export const pageSize = 50

export const Text = (description: string, example: string, maxLength = 255) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description, examples: [example] }))

/** The filters of every list of events; at most this many subjects, since each is looked up by itself. */
export const sharedFilters = {
  type: Text(
    `Only events of these types, separated by commas: ${eventTypes.join(', ')}.`,
    'key.created,key.deleted',
  ),
  subject: Text(
    'Only events about the keys, API keys or other records with these ids, separated by commas; at most 20.',
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    1_000,
  ),
  from: Text('Only events from this time on (RFC 3339).', '2026-05-01T00:00:00Z'),
  to: Text('Only events before this time (RFC 3339).', '2026-06-01T00:00:00Z'),
}
const maxSubjects = 20

export const Limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: maxPageSize,
    default: pageSize,
    description: 'Events per page; streams have no pages.',
  }),
)

export const EventQuery = Query({
  after: Type.Optional(
    Type.String({
      pattern: positionPattern,
      default: '0',
      examples: ['7', '7.1f0c9a3e'],
      description:
        'The last event that you have: its revision, or better `REVISION.HASH8` with the first 8 characters of its hash. Only later events follow. If the ledger has no such event, because the database was restored, the response is 409 `history_changed`.',
    }),
  ),
  before: Type.Optional(
    Type.String({
      pattern: eventPattern,
      examples: ['7', '7.1f0c9a3e'],
      description:
        'Only events before this one: its revision, or `REVISION.HASH8`, which is refused as for `after` if the ledger has no such event.',
    }),
  ),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], {
      default: 'asc',
      description: '`desc`: the newest events first.',
    }),
  ),
  limit: Limit,
  ...sharedFilters,
  actor: Text(
    'Only events by this actor: the id of an API key, session or access rule; the name of an API key, command or person; or the subject of a person or workload.',
    'deploy pipeline',
  ),
})
export type EventQuery = Static<typeof EventQuery>

/** Throws `invalid_request` as `readFilters` does. */
export function readEventQuery(query: EventQuery): HistoryRequest {
  const { after = '', before, order, limit = pageSize, actor } = query
  return {
    after: parsePosition(after) ?? ledgerStart,
    before: before === undefined ? undefined : parsePosition(before),
    limit,
    newestFirst: order === 'desc',
    filter: { ...readFilters(query), ...present({ actor }) },
  }
}

/** Throws `invalid_request` for a query that streams, which have all events, would ignore. */
export function requireUnfiltered({ before, order }: EventQuery, { filter }: HistoryRequest): void {
  if (before === undefined && order === undefined && Object.keys(filter).length === 0) return
  throw new PubringError(
    'invalid_request',
    'A stream has all events from `after` on, in order: leave out before, order, type, actor, subject, from and to, and choose from what it sends.',
  )
}

/**
 * Reads the types, the subjects and the range of times. Throws `invalid_request` with all faults, also
 * for control characters in any parameter.
 */
export function readFilters(query: { [Name in keyof typeof sharedFilters]?: string }) {
  const faults: FieldError[] = []
  const fault = (parameter: string, code: string, detail: string) => {
    faults.push({ parameter, code, detail })
    return undefined
  }
  const names = query.type?.split(',').map((name) => name.trim())
  const unknown = names?.find((name) => !eventTypes.includes(name))
  if (unknown !== undefined) fault('type', 'unknown_value', unknownType(unknown))
  const ids = query.subject?.split(',').map((id) => idOrText(id.trim()))
  const subjects = new Set(ids)
  if (subjects.size > maxSubjects) {
    const detail = `subject has ${subjects.size} ids. Send at most ${maxSubjects} ids at a time.`
    fault('subject', 'too_many', detail)
  }
  const [from, to] = (['from', 'to'] as const).map((parameter) => {
    const text = query[parameter]
    const ms = text === undefined ? undefined : parseTimeMs(text)
    if (ms !== undefined && ms < year10000) return isoTime(ms)
    if (text === undefined) return undefined
    const form = 'an RFC 3339 time with a time zone, such as 2027-05-01T12:00:00Z'
    return fault(parameter, 'time_invalid', `${parameter} must be ${form}. Write + as %2B.`)
  })
  if (from !== undefined && to !== undefined && from > to) {
    fault('to', 'out_of_range', 'to lies before from. Swap the two.')
  }
  for (const [parameter, text] of Object.entries(query)) {
    // PostgreSQL rejects NUL.
    if (!/\p{Cc}/u.test(String(text))) continue
    fault(parameter, 'invalid', `${parameter} has control characters. Leave them out.`)
  }
  if (faults.length > 0) throw rejection(faults)
  return present({
    types: names && [...new Set(names)],
    subjects: ids && [...subjects],
    from,
    to,
  })
}

export const idOrText = (text: string) => parseId(text) ?? text

function unknownType(name: string): string {
  const suggestion = suggestedName(name, eventTypes)
  const hint = suggestion === undefined ? `one of ${eventTypes.join(', ')}` : `"${suggestion}"`
  return `There is no event type ${printableName(name, 'of that name')}. Send ${hint}.`
}

/** Adds a `Link` to the page that follows: the same path with this query. */
export function linkNext(reply: FastifyReply, url: string, query: object): void {
  const parameters = Object.entries(present(query)).map(([name, value]) => [name, String(value)])
  reply.header('link', `<${url}?${new URLSearchParams(parameters)}>; rel="next"`)
}
