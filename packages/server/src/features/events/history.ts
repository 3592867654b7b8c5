import { parseProjectRef } from '../../kernel/access/projects.ts'
import type { Context } from '../../kernel/context.ts'
import { notFound } from '../../kernel/faults.ts'
import {
  type EventPlace,
  findSubjects,
  type RegistryFilter,
  type RegistryPage,
  type RegistryResult,
  readEventsAt,
} from '../../kernel/ledger/event-reads.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { present } from '../../runtime/present.ts'

/** A filter as a caller sends it. */
interface RegistryQuery extends Omit<RegistryFilter, 'projectId' | 'people'> {
  /** Id or name. */
  project?: string
  /** Id, name, email address or subject. */
  person?: string
}

/** Throws `project_not_found` for a name that no project has. A deleted project is named by its id. */
export async function readRegistryHistory(
  { store }: Context,
  { project, person, ...filter }: RegistryQuery,
  page: Omit<RegistryPage, 'filter'>,
): Promise<RegistryResult> {
  const projectId = project === undefined ? undefined : await projectIdOf(store, project)
  const people = person === undefined ? undefined : await subjectsOf(store, person)
  return readAllLedgers(store.reader, {
    ...page,
    filter: { ...filter, ...present({ projectId, people }) },
  })
}

async function projectIdOf(store: Context['store'], project: string): Promise<string> {
  const ref = parseProjectRef(project)
  if ('id' in ref) return ref.id
  const found = await store.identifyProject(ref)
  if (found === undefined) throw notFound('project_not_found')
  return found.id
}

/** The text itself may be a subject too: of an erased person, the registry knows nothing else. */
async function subjectsOf(store: Context['store'], person: string): Promise<string[]> {
  const found = await findSubjects(store.reader, parseId(person) ?? person)
  return [...new Set([person, ...found])]
}

export function formatPlace({ time, ledgerId, revision }: EventPlace): string {
  return Buffer.from(JSON.stringify([time, ledgerId, revision])).toString('base64url')
}

/** Undefined if it is not one that `formatPlace` made. */
export function parsePlace(text: string): EventPlace | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (!Array.isArray(parts) || parts.length !== 3) return undefined
    const [time, ledgerId, revision]: unknown[] = parts
    const isPlace =
      typeof time === 'string' &&
      /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time) &&
      typeof ledgerId === 'string' &&
      parseId(ledgerId) !== undefined &&
      typeof revision === 'number' &&
      Number.isSafeInteger(revision)
    return isPlace ? { time, ledgerId, revision } : undefined
  } catch {
    return undefined
  }
}

/** Index entries that one call reads of one order of events. */
const maxExamined = 2_000

/** An event without its content: what the filters compare. */
interface Entry extends EventPlace {
  type: string
  subjectId: string
  requestId: string
  person: string | null
}

/**
 * Events of all ledgers that match a filter. Newest first; the events of one project come in the order
 * of its ledger, which has a key for it. One call examines a bounded number.
 */
export async function readAllLedgers(
  db: Db,
  { filter, before, limit }: RegistryPage,
): Promise<RegistryResult> {
  const compare = isByRevision(filter) ? compareRevisions : comparePlaces
  const size = isExact(filter) ? limit + 1 : maxExamined
  const lists = await Promise.all(
    lookupsOf(filter).map((lookup) => readEntries(db, { filter, before, size, ...lookup })),
  )
  // Beyond the end of a list that was cut, other events may come first.
  const ends = lists.flatMap((list) => (list.length < size ? [] : list.slice(-1)))
  const end = ends.toSorted(compare)[0]
  const examined = lists
    .flat()
    .filter((entry) => end === undefined || compare(entry, end) <= 0)
    .toSorted(compare)
  const found = examined.filter((entry) => matches(entry, filter))
  const shown = found.slice(0, limit)
  const next = found.length > limit ? shown.at(-1) : end
  const events = await readEventsAt(db, shown)
  const place = next && { time: next.time, ledgerId: next.ledgerId, revision: next.revision }
  return place === undefined ? { events } : { events, next: place }
}

/** Whether no filter has an index of its own: events are looked up by their ledger, type or time. */
const isGeneral = ({ requestId, subjects, people }: RegistryFilter): boolean =>
  [requestId, subjects, people].every((one) => one === undefined)

/** Whether the events are looked up by the primary key, in the order of a ledger. */
const isByRevision = (filter: RegistryFilter): boolean =>
  isGeneral(filter) && filter.projectId !== undefined

/** The queries that together find the events: an index gives the order for one type, person or subject. */
function lookupsOf(filter: RegistryFilter): Pick<EntryPage, 'type' | 'person' | 'subject'>[] {
  const { projectId, people, types, subjects, requestId } = filter
  if (requestId !== undefined) return [{}]
  if (subjects !== undefined) return subjects.map((subject) => ({ subject }))
  if (people !== undefined) return people.map((person) => ({ person }))
  if (projectId !== undefined || types === undefined) return [{}]
  return types.map((type) => ({ type }))
}

/** Whether all events that the index finds match. */
function isExact(filter: RegistryFilter): boolean {
  const { from, to, ...others } = filter
  const given = Object.values(others).filter((value) => value !== undefined)
  return given.length <= 1 && !(isByRevision(filter) && (from ?? to) !== undefined)
}

function comparePlaces(one: EventPlace, other: EventPlace): number {
  return (
    order(other.time, one.time) ||
    order(other.ledgerId, one.ledgerId) ||
    compareRevisions(one, other)
  )
}

function compareRevisions(one: EventPlace, other: EventPlace): number {
  return other.revision - one.revision
}

/** Compares by code units, as the engines compare ids and times. */
function order(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

function matches(entry: Entry, filter: RegistryFilter): boolean {
  const { projectId, people, types, subjects, requestId, from = '', to } = filter
  return (
    (projectId === undefined || entry.ledgerId === projectId) &&
    (people === undefined || people.some((person) => person === entry.person)) &&
    (types === undefined || types.some((type) => type === entry.type)) &&
    (subjects === undefined || subjects.some((subject) => subject === entry.subjectId)) &&
    (requestId === undefined || entry.requestId === requestId) &&
    entry.time >= from &&
    (to === undefined || entry.time < to)
  )
}

interface EntryPage {
  filter: RegistryFilter
  /** A type of the filter, if events are looked up by type. */
  type?: string
  /** One of the people of the filter, if events are looked up by person. */
  person?: string
  /** A subject of the filter, if events are looked up by subject. */
  subject?: string
  before: EventPlace | undefined
  size: number
}

/** The next entries in the order of the index by which the filter finds the fewest. */
async function readEntries(
  db: Db,
  { filter, type, person, subject, before, size }: EntryPage,
): Promise<Entry[]> {
  const { projectId, requestId, from, to } = filter
  const byRevision = isByRevision(filter)
  let query = db
    .selectFrom('event')
    .select(['time', 'project_id', 'revision', 'type', 'subject_id', 'request_id', 'person'])
  if (requestId !== undefined) query = query.where('request_id', '=', requestId)
  else if (subject !== undefined) query = query.where('subject_id', '=', subject)
  else if (person !== undefined) query = query.where('person', '=', person)
  else if (projectId !== undefined) query = query.where('project_id', '=', projectId)
  else if (type !== undefined) query = query.where('type', '=', type)
  if (byRevision) {
    if (before !== undefined) query = query.where('revision', '<', before.revision)
  } else {
    query = query.orderBy('time', 'desc').orderBy('project_id', 'desc')
    if (from !== undefined) query = query.where('time', '>=', from)
    if (to !== undefined) query = query.where('time', '<', to)
    if (before !== undefined) {
      const { time, ledgerId, revision } = before
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('time', 'project_id', 'revision'), '<', tuple(time, ledgerId, revision)),
      )
    }
  }
  const rows = await query.orderBy('revision', 'desc').limit(size).execute()
  return rows.map((row) => ({
    time: row.time,
    ledgerId: row.project_id,
    revision: Number(row.revision),
    type: row.type,
    subjectId: row.subject_id,
    requestId: row.request_id,
    person: row.person,
  }))
}
