import type { Static } from 'typebox'
import { type FieldError, PubringError } from '../../../errors.ts'
import { Type } from '../../../kernel/contract.ts'
import { printableName, suggestedName } from '../../../kernel/http/faults.ts'
import { Query } from '../../../kernel/http/request/parameters.ts'
import type { EventFilter } from '../../../kernel/ledger/event-reads.ts'
import {
  eventPattern,
  formatPosition,
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
const pageSize = 50

export const Text = (description: string, example: string, maxLength = 255) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description, examples: [example] }))

export const SubjectText = Text(
  'Only events about the keys, API keys or other records with these ids, separated by commas; at most 20.',
  '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
  1_000,
)

const filters = {
  type: Text(
    `Only events of these types, separated by commas: ${eventTypes.join(', ')}.`,
    'key.created,key.deleted',
  ),
  actor: Text(
    'Only events by this actor: the id of an API key, session or access rule; the name of an API key, command or person; or the subject of a person or workload; for admins of all projects also the email address of a person.',
    'deploy pipeline',
  ),
  subject: SubjectText,
  since: Text('Only events from this time on (RFC 3339).', '2026-05-01T00:00:00Z'),
  until: Text('Only events before this time (RFC 3339).', '2026-06-01T00:00:00Z'),
}

export const eventQuery = (maximum: number) =>
  Query({
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
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum,
        default: pageSize,
        description: 'Events per page. Ignored by streams and exports.',
      }),
    ),
    ...filters,
  })

export type EventQuery = Static<ReturnType<typeof eventQuery>>

/**
 * Throws `invalid_request` for unknown types, for times that are none and for control characters.
 * `findsEmail`: whether `actor` may be an email address.
 */
export function readEventQuery(query: EventQuery, findsEmail: boolean): HistoryRequest {
  const { after = '', before, order, limit = pageSize } = query
  return {
    after: parsePosition(after) ?? ledgerStart,
    before: before === undefined ? undefined : parsePosition(before),
    limit,
    newestFirst: order === 'desc',
    filter: readFilter(query, findsEmail),
  }
}

/** Throws `invalid_request` for a query that streams, which have all events, would ignore. */
export function requireUnfiltered({ before, order }: EventQuery, { filter }: HistoryRequest): void {
  const given = Object.entries({ before, order, ...filter }).filter(([, value]) => value)
  if (given.length === 0) return
  throw new PubringError(
    'invalid_request',
    'A stream has all events from `after` on, in order: leave out before, order, type, actor, subject, since and until, and choose from what it sends.',
  )
}

function readFilter(
  { type, actor, subject, since, until }: EventQuery,
  findsEmail: boolean,
): EventFilter {
  const { types, start, end } = readFilters({
    type,
    range: { since, until },
    texts: { actor, subject },
  })
  const byEmail = actor !== undefined && findsEmail ? (true as const) : undefined
  const subjects = readSubjects(subject)
  return present({ types, actor, byEmail, subjects, since: start, until: end })
}

export const idOrText = (text: string | undefined) => text && (parseId(text) ?? text)

/** Each is looked up by itself. */
const maxSubjects = 20

/** Throws `invalid_request` for too many. */
export function readSubjects(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined
  const ids = new Set(text.split(',').map((each) => parseId(each.trim()) ?? each))
  if (ids.size <= maxSubjects) return [...ids]
  const detail = `subject has ${ids.size} ids. Send at most ${maxSubjects} ids at a time.`
  const errors = [{ parameter: 'subject', code: 'too_many', detail }]
  throw new PubringError('invalid_request', detail, { errors })
}

/**
 * Reads what filters of events have in common: types, and a range of times by the names of its ends.
 * Throws `invalid_request` with all faults, also for control characters in the texts.
 */
export function readFilters(query: {
  type: string | undefined
  range: Record<string, string | undefined>
  texts: Record<string, string | undefined>
}): { types: string[] | undefined; start: string | undefined; end: string | undefined } {
  const faults: FieldError[] = []
  const fault = (parameter: string, code: string, detail: string) => {
    faults.push({ parameter, code, detail })
    return undefined
  }
  const names = query.type?.split(',').map((name) => name.trim())
  const types = names?.filter((name) => eventTypes.includes(name))
  const unknown = names?.find((name) => !eventTypes.includes(name))
  if (unknown !== undefined) fault('type', 'unknown_value', unknownType(unknown))
  const time = (parameter: string, text: string | undefined) => {
    const ms = text === undefined ? undefined : parseTimeMs(text)
    if (ms !== undefined && ms < year10000) return isoTime(ms)
    if (text === undefined) return undefined
    const form = 'an RFC 3339 time with a time zone, such as 2027-05-01T12:00:00Z'
    return fault(parameter, 'time_invalid', `${parameter} must be ${form}. Write + as %2B.`)
  }
  const [first = '', last = ''] = Object.keys(query.range)
  const start = time(first, query.range[first])
  const end = time(last, query.range[last])
  if (start !== undefined && end !== undefined && start > end) {
    fault(last, 'out_of_range', `${last} lies before ${first}. Swap the two.`)
  }
  for (const [parameter, text = ''] of Object.entries(query.texts)) {
    // PostgreSQL rejects NUL.
    if (!/\p{Cc}/u.test(text)) continue
    fault(parameter, 'invalid', `${parameter} has control characters. Leave them out.`)
  }
  if (faults.length > 0) {
    const detail = faults.map((each) => each.detail).join(' ')
    throw new PubringError('invalid_request', detail, { errors: faults })
  }
  return { types: types && [...new Set(types)], start, end }
}

function unknownType(name: string): string {
  const suggestion = suggestedName(name, eventTypes)
  const hint = suggestion === undefined ? `one of ${eventTypes.join(', ')}` : `"${suggestion}"`
  return `There is no event type ${printableName(name, 'of that name')}. Send ${hint}.`
}

/** The query of the page that follows. */
export function nextQuery(query: EventQuery, { after, before, limit }: HistoryRequest): string {
  const { limit: _limit, after: _after, before: _before, ...others } = query
  const start = after.revision === 0 ? undefined : formatPosition(after)
  const end = before && formatPosition(before)
  const parameters = Object.entries(present({ limit, after: start, before: end, ...others }))
  return new URLSearchParams(parameters.map(([name, value]) => [name, String(value)])).toString()
}
