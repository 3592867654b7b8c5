import { type Selectable, sql } from 'kysely'
import { present } from '../../runtime/present.ts'
import type { LedgerHead } from '../records.ts'
import { columnsOf, type Db, type Tables } from '../storage/schema.ts'
import type { EventChanges, LedgerEvent } from './chain.ts'
import { eventFromRow, eventTable } from './stored.ts'

/** Events that one call compares with a filter: their rows are read one after another. */
const maxExamined = 2_000

/** Earlier events of a subject among which its label is looked for. */
const maxLabelDistance = 100

/** Knows the people of whom events have the subjects alone. */
export interface People {
  readNames(
    db: Db,
    subjects: readonly string[],
  ): Promise<{ issuer: string; subject: string; name: string }[]>
  /** The subjects of people with this name, id or, if asked for, email address. */
  findSubjects(db: Db, person: string, options: { byEmail?: true | undefined }): Promise<string[]>
}

/** Reads the notes of the registration links with these ids, which events do not hold. */
export type ReadNotes = (db: Db, ids: readonly string[]) => Promise<{ id: string; note: string }[]>

/** What features know of actors beside the events. */
export interface ActorNames {
  people: People | undefined
  readNotes: ReadNotes | undefined
}

const namesOf = new WeakMap<Db, ActorNames>()

/** Has the actors of events that are read over this database named; a person without a name has the subject. */
export function nameThrough(db: Db, names: ActorNames): void {
  namesOf.set(db, names)
}

/** A page of a ledger's events in order. */
export async function readEvents(
  db: Db,
  ledgerId: string,
  { after, limit }: { after: number; limit: number },
): Promise<LedgerEvent[]> {
  const range = { after, limit, newestFirst: false }
  return toEvents(db, await labelled(inRange(eventsOf(db, ledgerId), range)).execute())
}

/** The subjects of people with this id, name or email address. */
export async function findSubjects(db: Db, person: string): Promise<string[]> {
  return (await namesOf.get(db)?.people?.findSubjects(db, person, { byEmail: true })) ?? []
}

/** A page of a ledger's events in order, as they are stored. */
export function readEventRows(
  db: Db,
  ledgerId: string,
  { after, limit }: { after: number; limit: number },
): Promise<Selectable<Tables['event']>[]> {
  return inRange(eventsOf(db, ledgerId), { after, limit, newestFirst: false })
    .select(columnsOf(eventTable))
    .execute()
}

/** Events of a stretch of a ledger that match a filter. One call examines a bounded number. */
export async function readStretch(
  db: Db,
  ledgerId: string,
  page: HistoryPage,
): Promise<HistoryResult> {
  const { filter } = page
  const { subjects, ...compared } = filter
  const ofLedger = eventsOf(db, ledgerId)
  const all = subjects === undefined ? ofLedger : ofLedger.where('subject_id', 'in', subjects)
  if (Object.values(compared).every((value) => value === undefined)) {
    return { events: await toEvents(db, await labelled(inRange(all, page)).execute()) }
  }
  const end = await inRange(all, { ...page, limit: 1 })
    .select(['revision', 'hash'])
    .offset(maxExamined - 1)
    .executeTakeFirst()
  const { actor } = filter
  const namesakes = actor && (await namesOf.get(db)?.people?.findSubjects(db, actor, {}))
  const matching = matchingEvents(all, filter, namesakes || [])
  const examined =
    end === undefined
      ? matching
      : matching.where('revision', page.newestFirst ? '>=' : '<=', end.revision)
  const events = await toEvents(db, await labelled(inRange(examined, page)).execute())
  return { events, ...present({ examinedTo: end }) }
}

/** The events at these places, in this order. */
export async function readEventsAt(
  db: Db,
  places: readonly { ledgerId: string; revision: number }[],
): Promise<LedgerEvent[]> {
  if (places.length === 0) return []
  const ledgers = Map.groupBy(places, ({ ledgerId }) => ledgerId)
  const found = await Promise.all(
    [...ledgers].map(([ledgerId, own]) =>
      labelled(
        eventsOf(db, ledgerId).where(
          'event.revision',
          'in',
          own.map(({ revision }) => revision),
        ),
      ).execute(),
    ),
  )
  const events = await toEvents(db, found.flat())
  const byPlace = new Map(events.map((event) => [`${event.ledgerId} ${event.revision}`, event]))
  return places.flatMap(({ ledgerId, revision }) => byPlace.get(`${ledgerId} ${revision}`) ?? [])
}

type Events = ReturnType<typeof eventsOf>

function eventsOf(db: Db, ledgerId: string) {
  return db.selectFrom('event').where('event.project_id', '=', ledgerId)
}

type Range = Pick<HistoryPage, 'after' | 'before' | 'limit' | 'newestFirst'>

function inRange(events: Events, { after, before, limit, newestFirst }: Range): Events {
  const later = events.where('revision', '>', after)
  return (before === undefined ? later : later.where('revision', '<', before))
    .orderBy('revision', newestFirst ? 'desc' : 'asc')
    .limit(limit)
}

function matchingEvents(
  events: Events,
  { types, actor, from, to }: EventFilter,
  namesakes: readonly string[],
): Events {
  let matching = events
  if (types !== undefined) matching = matching.where('type', 'in', types)
  if (from !== undefined) matching = matching.where('time', '>=', from)
  if (to !== undefined) matching = matching.where('time', '<', to)
  if (actor === undefined) return matching
  return matching.where(({ or, eb }) =>
    or([
      eb('actor_id', '=', actor),
      eb('actor_name', '=', actor),
      ...[actor, ...namesakes].map(hasActorMember),
    ]),
  )
}

/**
 * Whether a person or workload has a member with this value. The engines have no common function that
 * finds a text in another one and respects case, but both replace it.
 */
function hasActorMember(value: string) {
  return sql<boolean>`replace(event.actor, ${`:${JSON.stringify(value)}`}, '') <> event.actor`
}

/** Matches the JSON of changes that hold the label or name; one in a text has escaped quotes. */
const labelPatterns = ['%"label":{%', '%"name":{%'] as const

/** The rows, each with the last changes of its subject's label if its own hold none. */
function labelled(events: Events) {
  const [label, name] = labelPatterns
  const hasLabel = (changes: string) =>
    sql`(${sql.ref(changes)} like ${label} or ${sql.ref(changes)} like ${name})`
  return events.select(columnsOf(eventTable).map((column) => `event.${column}` as const)).select(
    sql<string | null>`case when ${hasLabel('event.changes')} then null else (
        select earlier.changes from (
          select before.changes, before.revision from event as before
          where before.subject_id = event.subject_id and before.project_id = event.project_id
            and before.revision < event.revision
          order by before.revision desc limit ${sql.lit(maxLabelDistance)}
        ) as earlier
        where ${hasLabel('earlier.changes')} order by earlier.revision desc limit 1) end`.as(
      'label_changes',
    ),
  )
}

type LabelledRow = Selectable<Tables['event']> & { label_changes: string | null }

/** The events of the rows, with labels, and the names of the people among their actors. */
function toEvents(db: Db, rows: LabelledRow[]): Promise<LedgerEvent[]> {
  const events = rows.map(({ label_changes, ...row }) => {
    const event = eventFromRow(row)
    const earlier: EventChanges = JSON.parse(label_changes ?? '{}')
    const label = labelIn(event.changes) ?? labelIn(earlier)
    return label === undefined ? event : { ...event, label }
  })
  return withNames(db, events)
}

/** Names the people and the registration links among the actors, by one query for each. */
export async function withNames(db: Db, events: LedgerEvent[]): Promise<LedgerEvent[]> {
  return withNotes(db, await withPeople(db, events))
}

async function withNotes(db: Db, events: LedgerEvent[]): Promise<LedgerEvent[]> {
  const ids = new Set(events.flatMap(({ actor }) => actor.link?.id ?? []))
  if (ids.size === 0) return events
  const known = (await namesOf.get(db)?.readNotes?.(db, [...ids])) ?? []
  const notes = new Map(known.map(({ id, note }) => [id, note]))
  return events.map((event) => {
    const name = notes.get(event.actor.link?.id ?? '')
    return name === undefined ? event : { ...event, actor: { ...event.actor, name } }
  })
}

async function withPeople(db: Db, events: LedgerEvent[]): Promise<LedgerEvent[]> {
  const subjects = new Set(events.flatMap(({ actor }) => actor.user?.subject ?? []))
  if (subjects.size === 0) return events
  const known = (await namesOf.get(db)?.people?.readNames(db, [...subjects])) ?? []
  const names = new Map(
    known.map(({ issuer, subject, name }) => [JSON.stringify([issuer, subject]), name]),
  )
  return events.map((event) => {
    const { user } = event.actor
    if (user === undefined) return event
    const name = names.get(JSON.stringify([user.issuer, user.subject])) ?? user.subject
    return { ...event, actor: { ...event.actor, name } }
  })
}

/** The label after the changes, or before them if they remove it, as a deletion does. */
function labelIn({ label, name }: EventChanges = {}): string | undefined {
  const { from, to = from } = label ?? name ?? {}
  return to === undefined ? undefined : String(to)
}

/** Selects events of a ledger; every member that is set must match. */
interface EventFilter {
  types?: readonly string[]
  /**
   * Matches the id of an API key, session or access rule, the name of an API key, command or person,
   * and the subject of a person or workload.
   */
  actor?: string
  /** Ids. */
  subjects?: readonly string[]
  /** ISO 8601: events from this time on, and before this time. */
  from?: string
  to?: string
}

/** A stretch of a ledger, between two revisions that it excludes. */
export interface HistoryPage {
  after: number
  before?: number | undefined
  limit: number
  newestFirst: boolean
  filter: EventFilter
}

/** `examinedTo`: the last event that was examined, if others of the stretch were not. */
interface HistoryResult {
  events: LedgerEvent[]
  examinedTo?: LedgerHead
}
