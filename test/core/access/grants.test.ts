import { describe, expect, test } from 'vitest'
import {
  type Grant,
  permits,
  projectsWith,
  requireAccess,
  soleProject,
} from '../../../src/core/access/grants.ts'

const everywhere: Grant[] = [{ role: 'writer' }]
const inA: Grant[] = [{ role: 'admin', projectId: 'a' }]
const mixed: Grant[] = [
  { role: 'reader' },
  { role: 'writer', projectId: 'a' },
  { role: 'admin', projectId: 'b' },
]

describe('projectsWith', () => {
  test.each([
    ['a role in all projects', everywhere, 'reader', 'all'],
    ['a role that is too weak', everywhere, 'admin', []],
    ['a role in one project', inA, 'admin', ['a']],
    ['different roles: read', mixed, 'reader', 'all'],
    ['different roles: write', mixed, 'writer', ['a', 'b']],
    ['different roles: administer', mixed, 'admin', ['b']],
    ['no grants', [], 'reader', []],
  ] as const)('%s', (_title, grants, role, projects) => {
    expect(projectsWith(grants, role)).toEqual(projects)
  })
})

test('a role in one project permits nothing in another one', () => {
  expect(permits(inA, { role: 'reader' }, 'a')).toBe(true)
  expect(permits(inA, { role: 'reader' }, 'b')).toBe(false)
  expect(permits(inA, { role: 'reader' })).toBe(true)
})

test('roles in single projects never add up to a role in all projects', () => {
  expect(permits(mixed, { role: 'reader', unbound: true })).toBe(true)
  expect(permits(mixed, { role: 'writer', unbound: true })).toBe(false)
  expect(permits(mixed, { role: 'admin', unbound: true }, 'b')).toBe(false)
})

test('the error says which role is missing, or that the grants reach too few projects', () => {
  const inB = () => requireAccess(mixed, { role: 'admin' }, 'a')
  expect(inB).toThrow('This operation needs the role admin; you have the role writer.')
  const unbound = () => requireAccess(inA, { role: 'admin', unbound: true })
  expect(unbound).toThrow('needs the role admin for all projects; you have it for some only.')
})

test('the sole project is that of all grants', () => {
  expect(soleProject([...inA, { role: 'reader', projectId: 'a' }])).toBe('a')
  expect(soleProject(mixed)).toBeUndefined()
  expect(soleProject(everywhere)).toBeUndefined()
})
