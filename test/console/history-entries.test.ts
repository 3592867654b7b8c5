import { expect, test } from 'vitest'
import { entriesOf, eventQuery, noFilter } from '../../console/src/events/filter.ts'
import { typeLabel, typesOfHistory } from '../../console/src/events/types.ts'
import type { Event } from '../../packages/client/src/index.ts'
import { eventTypes } from '../../packages/server/src/features/events/types.ts'

const day = (number: number) => `2026-03-${String(number).padStart(2, '0')}T00:00:00.000Z`
const now = Date.parse(day(28))

function event(
  revision: number,
  on: number,
  type: string,
  changes: NonNullable<Event['changes']>,
): Event {
  const subject = { type: 'key' as const, id: 'spring' }
  const rest = { actor: { name: 'ada' }, subject, label: 'spring', requestId: '', hash: '' }
  return { revision, type, time: day(on), changes, ...rest }
}

const filterOf = (query: string) => ({
  ...noFilter,
  ...Object.fromEntries(new URLSearchParams(query)),
})

/** The entries as the days and types that they have. */
function entries(
  events: Event[],
  query = '',
  known: Partial<Parameters<typeof entriesOf>[1]> = {},
) {
  const all = { keys: [], filter: filterOf(query), hasOlder: false, now, ...known }
  return entriesOf(events, all).map((entry) => {
    const type = 'event' in entry ? entry.event.type : `expired ${entry.expiry.label}`
    return `${Number(entry.time.slice(8, 10))} ${type}`
  })
}

const created = event(1, 1, 'key.created', { expireTime: { to: day(5) } })
const extended = event(2, 8, 'key.updated', { expireTime: { from: day(5), to: day(20) } })
const cleared = event(3, 12, 'key.updated', { expireTime: { from: day(20) } })
const set = event(4, 14, 'key.updated', { expireTime: { to: day(16) } })
const deleted = event(5, 18, 'key.deleted', { label: { from: 'spring' } })

test('an expiry that passed is an entry, one that was changed before is not', () => {
  expect(entries([deleted, set, cleared, extended, created])).toEqual([
    '18 key.deleted',
    '16 expired spring',
    '14 key.updated',
    '12 key.updated',
    '8 key.updated',
    '5 expired spring',
    '1 key.created',
  ])
})

test('an expiry in the future is none, nor one after the deletion', () => {
  const later = event(1, 1, 'key.created', { expireTime: { to: '2026-04-01T00:00:00.000Z' } })
  expect(entries([later])).toEqual(['1 key.created'])
  const removed = event(2, 3, 'key.deleted', {})
  expect(entries([removed, created])).toEqual(['3 key.deleted', '1 key.created'])
})

test('a key that exists expired, even if its events are not loaded, but not before the oldest', () => {
  const keys = [{ id: 'old', label: 'winter', expireTime: day(10) }]
  expect(entries([cleared], '', { keys })).toContain('10 expired winter')
  expect(entries([cleared], '', { keys, hasOlder: true })).toEqual(['12 key.updated'])
})

test('the filters apply to expiries too', () => {
  const keys = [{ id: 'old', label: 'winter', expireTime: day(10) }]
  const all = [extended, created]
  const expired = (query: string) =>
    entries(all, query, { keys }).filter((entry) => entry.includes('expired'))
  expect(expired('')).toEqual(['20 expired spring', '10 expired winter', '5 expired spring'])
  expect(expired('type=key.deleted')).toEqual([])
  expect(expired('actor=ada')).toEqual([])
  expect(expired('subject=old')).toEqual(['10 expired winter'])
  expect(expired(`from=${day(6)}&to=${day(15)}`)).toEqual(['10 expired winter'])
  expect(entries(all, 'type=key.expired,key.created')).toEqual([
    '20 expired spring',
    '5 expired spring',
    '1 key.created',
  ])
})

test('the service is asked for the events that tell of expiries, never for expiries', () => {
  expect(eventQuery(filterOf('type=project.renamed&actor=ada&x=1'))).toEqual({
    type: 'project.renamed',
    actor: 'ada',
  })
  const { type } = eventQuery(filterOf('type=key.expired'))
  expect(type?.split(',')).toEqual(['key.created', 'key.updated', 'key.deleted', 'key.recorded'])
})

test('every event type has a label in words of its own', () => {
  const labels = typesOfHistory(true).map(typeLabel)
  expect(labels.filter((label) => !/^[A-Z][A-Za-z ]+$/.test(label))).toEqual([])
  // An expiry is derived: no ledger has an event of it.
  expect(new Set(labels).size).toBe(eventTypes.length + 1)
  expect(labels).toContain('API key recorded as it is')
  expect(labels).toContain('Key expired')
})
