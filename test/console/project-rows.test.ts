import { expect, test } from 'vitest'
import { type ProjectRow, sortedProjects, totalsOf } from '../../console/src/pages/projects/rows.ts'
import { placeOf } from '../../console/src/warnings/places.ts'

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
      keys: { active: 1, off: 0, expired: 0 },
      rotations: 0,
      warnings: 0,
      ...health,
    },
  }),
})

const rows = [
  row('healthy'),
  row('calm', {}),
  row('warned', { warnings: 2 }),
  row('next-week', { nextExpireTime: '2026-03-06T00:00:00.000Z', warnings: 1 }),
  row('next-month', { nextExpireTime: '2026-03-29T00:00:00.000Z', rotations: 1 }),
  row('empty', { keys: { active: 0, off: 0, expired: 0 } }),
  row('broken', { keys: { active: 0, off: 1, expired: 0 } }),
]
const order = (by: Parameters<typeof sortedProjects>[1]['by'], descending = false) =>
  sortedProjects(rows, { by, descending }).map(({ name }) => name)

test('what breaks first comes first: no active key, then the next expiry, then warnings', () => {
  expect(order('urgency')).toEqual([
    'broken',
    'next-week',
    'next-month',
    'warned',
    'calm',
    'empty',
    'healthy',
  ])
  expect(order('urgency', true).at(-1)).toBe('broken')
})

test('projects are sorted by each part of their health, and then by name', () => {
  expect(order('name').slice(0, 2)).toEqual(['broken', 'calm'])
  expect(order('expiry').slice(0, 2)).toEqual(['next-week', 'next-month'])
  expect(order('rotations')[0]).toBe('next-month')
  expect(order('warnings').slice(0, 2)).toEqual(['warned', 'next-week'])
})

test('the figures count what breaks within a week and what has no active key', () => {
  expect(totalsOf(rows, Date.parse('2026-03-08'))).toEqual({
    projects: 7,
    activeKeys: 4,
    soon: 1,
    withoutKey: 1,
  })
})

test('each warning leads to where it is mended', () => {
  const warning = { severity: 'warning' as const, detail: '' }
  const place = (code: string, more: object) =>
    placeOf({ ...warning, code, ...more } as Parameters<typeof placeOf>[0])
  expect(place('key_expires', { projectId: 'p', kid: 'k' })).toBe('/projects/p/keys/k')
  expect(place('no_active_key', { projectId: 'p' })).toBe('/projects/p/keys')
  expect(place('api_key_expires', { apiKeyId: 'a' })).toBe('/api-keys')
})
