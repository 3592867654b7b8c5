import { present } from '../../runtime/present.ts'
import { parseStored, type RowOf, table } from '../storage/schema.ts'
import { type Actor, type EventChanges, type LedgerEvent, parsePublished } from './chain.ts'

/** The head of each ledger. Every change of a project locks its row first. */
export const ledgerTable = table(
  'ledger',
  {
    project_id: 'key text',
    revision: 'bigint',
    hash: 'text',
    /** Epoch milliseconds of the last change without an event, and rising with each. */
    eventless_time: 'nullable bigint',
  },
  { eventless_time: 'it only says which copies are read again' },
)

export const eventTable = table('event', {
  project_id: 'key text',
  revision: 'key bigint',
  type: 'text',
  time: 'text',
  /** The id of the API key, or of the person's session. */
  actor_id: 'nullable text',
  actor_name: 'text',
  /** The person, workload, JWT key or registration link that acted. */
  actor: 'nullable json',
  /** The subject of the person, by which their events are found. */
  person: 'nullable text',
  subject_type: 'text',
  subject_id: 'text',
  changes: 'nullable json',
  published: 'nullable json',
  request_id: 'text',
  hash: 'text',
})

declare module '../storage/schema.ts' {
  interface Tables {
    ledger: RowOf<typeof ledgerTable>
    event: RowOf<typeof eventTable>
  }
}

type EventRow = RowOf<typeof eventTable>

export function eventToRow(event: LedgerEvent): EventRow {
  const { name, apiKeyId, ...who } = event.actor
  const { user, link } = who
  return {
    project_id: event.ledgerId,
    revision: event.revision,
    type: event.type,
    time: event.time,
    actor_id: apiKeyId ?? user?.sessionId ?? null,
    actor_name: user === undefined && link === undefined ? name : '',
    actor: Object.keys(who).length === 0 ? null : JSON.stringify(who),
    person: user?.subject ?? null,
    subject_type: event.subject.type,
    subject_id: event.subject.id,
    changes: event.changes === undefined ? null : JSON.stringify(event.changes),
    published: event.published === undefined ? null : JSON.stringify(event.published),
    request_id: event.requestId,
    hash: event.hash,
  }
}

export function eventFromRow(row: EventRow): LedgerEvent {
  return {
    ledgerId: row.project_id,
    revision: row.revision,
    type: row.type,
    time: row.time,
    actor: actorFromRow(row),
    subject: { type: row.subject_type, id: row.subject_id },
    ...(row.changes === null ? {} : { changes: JSON.parse(row.changes) as EventChanges }),
    ...present({ published: parsePublished(row.published) }),
    requestId: row.request_id,
    hash: row.hash,
  }
}

function actorFromRow(row: EventRow): Actor {
  const stored: Omit<Actor, 'name' | 'apiKeyId'> = parseStored(row.actor ?? '{}', {})
  const { user, workload, jwtKeyId, link } = stored
  const { actor_id: id, actor_name: name } = row
  // The hash covers nothing else that is known of a person or of the holder of a link.
  if (user !== undefined) return { name, user }
  if (link !== undefined) return { name, link }
  return { name, ...present({ apiKeyId: id ?? undefined, workload, jwtKeyId }) }
}
