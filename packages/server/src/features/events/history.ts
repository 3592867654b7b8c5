import { parseProjectRef } from '../../kernel/access/projects.ts'
import type { Context } from '../../kernel/context.ts'
import { notFound } from '../../kernel/faults.ts'
import type { LedgerEvent } from '../../kernel/ledger/chain.ts'
import { findSubjects, readEventsAt } from '../../kernel/ledger/event-reads.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { present } from '../../runtime/present.ts'

/** Selects events of all ledgers; every member that is set must match. */
export interface RegistryFilter {
  projectId?: string
  /** The subjects of people, as their providers name them. */
  people?: readonly string[]
  types?: readonly string[]
  /** Ids. */
  subjects?: readonly string[]
  requestId?: string
  /** ISO 8601: events from this time on, and before this time. */
  from?: string
  to?: string
}

/** Where a page ends: before this event the next one begins. */
export interface EventPlace {
  time: string
  ledgerId: string
  revision: number
}

interface RegistryPage {
  filter: RegistryFilter
  before?: EventPlace
  limit: number
}

/** `next`: where the next page begins, if there may be one. */
interface RegistryResult {
  events: LedgerEvent[]
  next?: EventPlace
}

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
  return Buffer.from(`${time} ${ledgerId} ${revision}`).toString('base64url')
}

/** Undefined if it is not one that `formatPlace` made. */
export function parsePlace(text: string): EventPlace | undefined {
  const form = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9a-f-]{36}) (\d{1,15})$/
  const [, time, ledgerId, revision] = form.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (time === undefined || ledgerId === undefined) return undefined
  return { time, ledgerId, revision: Number(revision) }
}

/** Index entries that one call reads of one order of events. */
const maxExamined = 2_000

/** What filters compare besides the time; the columns whose index finds the fewest events come first. */
const columns = ['request_id', 'subject_id', 'person', 'project_id', 'type'] as const
type Column = (typeof columns)[number]

/** An event without its content. */
type Entry = EventPlace & Record<Column, string | null>

/**
 * Events of all ledgers that match a filter. Newest first; the events of one project come in the order
 * of its ledger, which has a key for it. One call examines a bounded number.
 */
export async function readAllLedgers(
  db: Db,
  { filter, before, limit }: RegistryPage,
): Promise<RegistryResult> {
  const wanted = wantedBy(filter)
  const [first] = wanted
  // The primary key gives the events of a project in the order of its ledger, and not by time.
  const byRevision = first?.column === 'project_id'
  const compare = byRevision ? compareRevisions : comparePlaces
  const isExact = wanted.length <= 1 && !(byRevision && (filter.from ?? filter.to) !== undefined)
  const size = isExact ? limit + 1 : maxExamined
  // An index gives the order for one value of its column.
  const lookups = first?.values.map((value) => ({ column: first.column, value })) ?? [undefined]
  const lists = await Promise.all(
    lookups.map((lookup) => readEntries(db, { filter, before, size, lookup, byRevision })),
  )
  // Beyond the end of a list that was cut, other events may come first.
  const ends = lists.flatMap((list) => (list.length < size ? [] : list.slice(-1)))
  const end = ends.toSorted(compare)[0]
  const { from = '', to } = filter
  const found = lists
    .flat()
    .filter((entry) => end === undefined || compare(entry, end) <= 0)
    .filter(({ time }) => time >= from && (to === undefined || time < to))
    .filter((entry) => wanted.every(({ column, values }) => values.includes(entry[column] ?? '')))
    .toSorted(compare)
  const shown = found.slice(0, limit)
  const next = found.length > limit ? shown.at(-1) : end
  const events = await readEventsAt(db, shown)
  const place = next && { time: next.time, ledgerId: next.ledgerId, revision: next.revision }
  return { events, ...present({ next: place }) }
}

function wantedBy({ requestId, subjects, people, projectId, types }: RegistryFilter) {
  const one = (value: string | undefined) => (value === undefined ? undefined : [value])
  const wanted: Record<Column, readonly string[] | undefined> = {
    request_id: one(requestId),
    subject_id: subjects,
    person: people,
    project_id: one(projectId),
    type: types,
  }
  return columns.flatMap((column) => {
    const values = wanted[column]
    return values === undefined ? [] : [{ column, values }]
  })
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

interface Lookup {
  filter: RegistryFilter
  before: EventPlace | undefined
  size: number
  lookup: { column: Column; value: string } | undefined
  /** In the order of a ledger, and not by time. */
  byRevision: boolean
}

async function readEntries(
  db: Db,
  { filter: { from, to }, before, size, lookup, byRevision }: Lookup,
): Promise<Entry[]> {
  let query = db.selectFrom('event').select(['time', 'revision', ...columns])
  if (lookup !== undefined) query = query.where(lookup.column, '=', lookup.value)
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
  return rows.map((row) => ({ ...row, ledgerId: row.project_id, revision: Number(row.revision) }))
}
