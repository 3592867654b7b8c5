const names = [
  'project',
  'person',
  'type',
  'actor',
  'subject',
  'requestId',
  'since',
  'until',
] as const

/**
 * The filters of a history, as its address has them; '' for none. Times are ISO 8601. A project's own
 * history has an actor in place of the project, person and request.
 */
export type Filter = Record<(typeof names)[number], string>

export const noFilter = Object.fromEntries(names.map((name) => [name, ''])) as Filter

export function readFilter(params: URLSearchParams): Filter {
  const entries = names.map((name) => [name, params.get(name) ?? ''])
  return Object.fromEntries(entries) as Filter
}

/** The filters that are set, as entries of an address or a query. */
export function givenFilters(filter: Filter): [string, string][] {
  return names.flatMap((name) => (filter[name] === '' ? [] : [[name, filter[name]]]))
}

/** The type of an entry that the console computes: no event is recorded when a key expires. */
export const expiredType = 'key.expired'

/** The events that tell of expiries. */
const typesWithExpiry = ['key.created', 'key.updated', 'key.deleted', 'key.recorded']

export function typesOf({ type }: Pick<Filter, 'type'>): string[] {
  return type.split(',').filter((each) => each !== '')
}

/** The query of the service for a filter. */
export function eventQuery(filter: Filter): Partial<Filter> {
  const types = new Set(typesOf(filter))
  if (types.delete(expiredType)) for (const each of typesWithExpiry) types.add(each)
  return Object.fromEntries(givenFilters({ ...filter, type: [...types].join(',') }))
}

/** The same for the events of all ledgers, where other names are in use. */
export function historyQuery(filter: Filter) {
  const { since: from, until: to, actor: _, ...query } = eventQuery(filter)
  return { ...query, ...(from && { from }), ...(to && { to }) }
}
