import { type Expiry, expiriesOf, type HistoryEvent, type JwtKey } from '@pubring/client'

export const filterNames = [
  'project',
  'person',
  'type',
  'actor',
  'subject',
  'requestId',
  'from',
  'to',
] as const

/**
 * The filters of a history, as its address has them; '' for none. Times are ISO 8601. A project's own
 * history has an actor in place of the project, person and request.
 */
export type Filter = Record<(typeof filterNames)[number], string>

export const noFilter = Object.fromEntries(filterNames.map((name) => [name, ''])) as Filter

export const givenFilters = (filter: Filter): [string, string][] =>
  filterNames.flatMap((name) => (filter[name] === '' ? [] : [[name, filter[name]]]))

/** The type of an entry that the console computes: no event is recorded when a key expires. */
export const expiredType = 'key.expired'

const typesWithExpiry = ['key.created', 'key.updated', 'key.deleted', 'key.recorded']

export const typesOf = ({ type }: Pick<Filter, 'type'>): string[] =>
  type.split(',').filter((each) => each !== '')

export function eventQuery(filter: Filter): Partial<Filter> {
  const types = new Set(typesOf(filter))
  if (types.delete(expiredType)) for (const each of typesWithExpiry) types.add(each)
  return Object.fromEntries(givenFilters({ ...filter, type: [...types].join(',') }))
}

/** The same for the events of all ledgers, which have no filter by actor. */
export function historyQuery(filter: Filter) {
  const { actor: _, ...query } = eventQuery(filter)
  return query
}

export type Entry = { event: HistoryEvent; time: string } | { expiry: Expiry; time: string }

type ListedKey = Pick<JwtKey, 'id' | 'label' | 'expireTime'>

type Known = {
  /** The keys that exist now; undefined for more than one project, of which no expiries are shown. */
  keys: ListedKey[] | undefined
  filter: Filter
  /** Whether there are events before the first of those that are known. */
  hasOlder: boolean
  /** Epoch milliseconds. */
  now: number
}

/** The entries that match the filter, newest first, of events that the service selected by it. */
export function entriesOf(events: HistoryEvent[], { keys, filter, hasOlder, now }: Known): Entry[] {
  const { person, actor, subject, requestId } = filter
  const types = typesOf(filter)
  const isChosen = (type: string) => types.length === 0 || types.includes(type)
  const oldest = hasOlder ? Date.parse(events.at(-1)?.time ?? '') : Number.NEGATIVE_INFINITY
  const from = filter.from === '' ? oldest : Math.max(oldest, Date.parse(filter.from))
  const to = filter.to === '' ? now : Date.parse(filter.to)
  const expiries = expiriesOf(events, keys ?? [], now).filter(({ kid, time }) => {
    const at = Date.parse(time)
    return (subject === '' || subject.split(',').includes(kid)) && from <= at && at <= to
  })
  const mayExpire = keys !== undefined && [person, actor, requestId].every((each) => each === '')
  const shown = isChosen(expiredType) && mayExpire ? expiries : []
  return [
    ...events.flatMap((event) => (isChosen(event.type) ? [{ event, time: event.time }] : [])),
    ...shown.map((expiry) => ({ expiry, time: expiry.time })),
  ].sort((one, other) => Date.parse(other.time) - Date.parse(one.time))
}
