import { describe, expect, test } from 'vitest'
import {
  type Grant,
  includesRole,
  permits,
  projectsWith,
  requireAccess,
  soleProject,
} from '../../../packages/server/src/kernel/access/grants.ts'

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
    expect(projectsWith(grants, { role, auditor: false })).toEqual(projects)
  })
})

test('a role in one project permits nothing in another one', () => {
  expect(permits(inA, { role: 'reader', auditor: false }, 'a')).toBe(true)
  expect(permits(inA, { role: 'reader', auditor: false }, 'b')).toBe(false)
  expect(permits(inA, { role: 'reader', auditor: false })).toBe(true)
})

test('roles in single projects never add up to a role in all projects', () => {
  expect(permits(mixed, { role: 'reader', unbound: true, auditor: false })).toBe(true)
  expect(permits(mixed, { role: 'writer', unbound: true, auditor: false })).toBe(false)
  expect(permits(mixed, { role: 'admin', unbound: true, auditor: false }, 'b')).toBe(false)
})

test('the error says which role is missing, or that the grants reach too few projects', () => {
  const inB = () => requireAccess(mixed, { role: 'admin', auditor: false }, 'a')
  expect(inB).toThrow('This operation needs the role admin; you have the role writer.')
  const unbound = () => requireAccess(inA, { role: 'admin', unbound: true, auditor: false })
  expect(unbound).toThrow('needs the role admin for all projects; you have it for some only.')
})

test('an auditor is permitted what says so, in all projects, and nothing else', () => {
  const auditor: Grant[] = [{ role: 'auditor' }]
  for (const role of ['reader', 'admin'] as const) {
    expect(permits(auditor, { role, unbound: true, auditor: true })).toBe(true)
    expect(permits(auditor, { role, auditor: true }, 'a')).toBe(true)
    expect(permits(auditor, { role, auditor: false }, 'a')).toBe(false)
  }
  const change = () => requireAccess(auditor, { role: 'writer', auditor: false }, 'a')
  expect(change).toThrow('This operation needs the role writer; you have the role auditor.')
  expect(soleProject(auditor)).toBeUndefined()
})

test.each([
  ['admin', 'auditor', true],
  ['auditor', 'reader', true],
  ['auditor', 'auditor', true],
  ['auditor', 'registrar', false],
  ['reader', 'auditor', false],
  ['writer', 'auditor', false],
  ['writer', 'registrar', true],
] as const)('%s includes %s: %s', (role, other, includes) => {
  expect(includesRole(role, other)).toBe(includes)
})

test('the sole project is that of all grants', () => {
  expect(soleProject([...inA, { role: 'reader', projectId: 'a' }])).toBe('a')
  expect(soleProject(mixed)).toBeUndefined()
  expect(soleProject(everywhere)).toBeUndefined()
})
