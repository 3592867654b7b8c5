import { expect, test } from 'vitest'
import {
  endingsOf,
  type ProjectRow,
  sortedProjects,
  totalsOf,
} from '../../console/src/pages/projects/rows.ts'
import { placeOf } from '../../console/src/warnings/places.ts'

type Warnings = NonNullable<ProjectRow['health']>['warnings']
type Code = Warnings[number]['code']
type Severity = Warnings[number]['severity']

const time = '2026-03-01T00:00:00.000Z'
const row = (name: string, health?: Partial<ProjectRow['health']>): ProjectRow => ({
  id: name,
  name,
  revision: 1,
  createTime: time,
  updateTime: time,
  ...(health && {
    health: {
      projectId: name,
      keys: { active: 1, compromised: 0, off: 0, expired: 0 },
      rotations: 0,
      warnings: [],
      ...health,
    },
  }),
})

const warned = (code: Code, severity: Severity) => ({ warnings: [{ code, severity }] })

const rows = [
  row('healthy'),
  row('calm', {}),
  row('warned', {
    warnings: [
      { code: 'key_expires', severity: 'info' },
      { code: 'vouched_keys_active', severity: 'info' },
    ],
  }),
  row('next-week', {
    nextExpireTime: '2026-03-06T00:00:00.000Z',
    ...warned('key_expires', 'warning'),
  }),
  row('succeeded', { nextExpireTime: '2026-03-05T00:00:00.000Z', rotations: 1 }),
  row('empty', { keys: { active: 0, compromised: 0, off: 0, expired: 0 } }),
  row('broken', {
    keys: { active: 0, compromised: 0, off: 1, expired: 0 },
    ...warned('no_active_key', 'warning'),
  }),
  row('leaked', {
    keys: { active: 1, compromised: 1, off: 0, expired: 0 },
    ...warned('key_compromised', 'critical'),
  }),
]
const order = (sort: string) => sortedProjects(rows, sort).map(({ name }) => name)

test('a compromised key comes first, then no active key, then a key that nothing succeeds', () => {
  expect(order('urgency')).toEqual([
    'leaked',
    'broken',
    'next-week',
    'succeeded',
    'warned',
    'calm',
    'empty',
    'healthy',
  ])
  expect(order('-urgency').at(-1)).toBe('leaked')
})

test('projects are sorted by each part of their health, and then by name', () => {
  expect(order('name').slice(0, 2)).toEqual(['broken', 'calm'])
  expect(order('expiry').slice(0, 2)).toEqual(['succeeded', 'next-week'])
  expect(order('rotations')[0]).toBe('succeeded')
  expect(order('warnings')[0]).toBe('warned')
})

test('the figures count the projects by what they are to be looked at for', () => {
  expect(totalsOf(rows)).toEqual({ projects: 8, activeKeys: 5, raised: [1, 1, 1] })
})

test('each warning leads to where it is mended', () => {
  const warning = { severity: 'warning' as const, detail: '' }
  const place = (code: string, more: object) =>
    placeOf({ ...warning, code, ...more } as Parameters<typeof placeOf>[0])
  expect(place('key_expires', { projectId: 'p', kid: 'k' })).toBe('/projects/p/keys/k')
  expect(place('no_active_key', { projectId: 'p' })).toBe('/projects/p/keys')
  expect(place('api_key_expires', { apiKeyId: 'a' })).toBe('/api-keys')
})

test('the calendar has what warnings name, and the next expiry of each project, once', () => {
  const next = '2026-03-06T00:00:00.000Z'
  const warning = { severity: 'info', detail: '', projectId: 'next-week', time: next } as const
  const endings = endingsOf(rows, [
    { ...warning, code: 'key_expires', projectName: 'next-week', kid: 'k', label: 'spring' },
    { ...warning, code: 'no_active_key' },
  ])
  expect(endings.map(({ name, time }) => [name, time.slice(0, 10)])).toEqual([
    ['succeeded', '2026-03-05'],
    ['next-week: spring', '2026-03-06'],
  ])
})
