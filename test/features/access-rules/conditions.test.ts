import { describe, expect, test, vi } from 'vitest'
import {
  explainUnmet,
  matchClaims,
  requireConditions,
} from '../../../packages/server/src/features/access-rules/conditions.ts'
import type { ClaimValue } from '../../../packages/server/src/features/access-rules/contract.ts'
import { grantsOf } from '../../../packages/server/src/features/access-rules/people.ts'

const meets = (conditions: Record<string, ClaimValue>, claims: Record<string, unknown>) =>
  matchClaims(conditions, claims) !== undefined

describe('a condition', () => {
  test.each<[string, Record<string, ClaimValue>, Record<string, unknown>, boolean]>([
    ['a text', { ref: 'main' }, { ref: 'main' }, true],
    ['another text', { ref: 'main' }, { ref: 'main2' }, false],
    ['other case', { ref: 'main' }, { ref: 'Main' }, false],
    ['no claim', { ref: 'main' }, {}, false],
    ['a number', { id: 7 }, { id: 7 }, true],
    ['a number as text', { id: 7 }, { id: '7' }, false],
    ['true', { ok: true }, { ok: true }, true],
    ['true as number', { ok: true }, { ok: 1 }, false],
    ['a pattern', { ref: 'refs/heads/*' }, { ref: 'refs/heads/main' }, true],
    ['a pattern and exactly its prefix', { ref: 'v*' }, { ref: 'v' }, true],
    ['a pattern and another text', { ref: 'refs/heads/*' }, { ref: 'refs/tags/v1' }, false],
    ['a pattern and the prefix elsewhere', { ref: 'v*' }, { ref: ' v1' }, false],
    ['a pattern and a number', { id: '7*' }, { id: 74 }, false],
    ['any text', { ref: '*' }, { ref: 'main' }, true],
    ['an element of a list', { groups: 'b' }, { groups: ['a', 'b'] }, true],
    ['no element of a list', { groups: 'c' }, { groups: ['a', 'b'] }, false],
    ['an empty list', { groups: '*' }, { groups: [] }, false],
    ['a pattern and a list', { groups: 'team-*' }, { groups: ['x', 'team-a'] }, true],
    ['an object without a text', { a: 'b' }, { a: { toString: 1, valueOf: 1 } }, false],
    ['all of several', { a: '1', b: '2' }, { a: '1', b: '3' }, false],
    ['a nested claim', { '/a.b/c/d': 'x' }, { 'a.b': { c: { d: 'x' } } }, true],
    ['a nested name with a slash', { '/a~1b/c~0d': 'x' }, { 'a/b': { 'c~d': 'x' } }, true],
    ['a name with a slash', { 'https://x.test/a': 'x' }, { 'https://x.test/a': 'x' }, true],
    ['the length of a list', { '/a/length': 1 }, { a: ['y'] }, false],
    ['an element with a leading zero', { '/a/00': 'y' }, { a: ['y'] }, false],
    ['a character of a text', { '/a/0': 'y' }, { a: 'y' }, false],
    ['an inherited member', { constructor: '*' }, {}, false],
    ['a nested inherited member', { '/a/toString': '*' }, { a: {} }, false],
    ['a prototype', { '/__proto__/x': 'y' }, {}, false],
    ['an email that is verified', { email: 'a@b' }, { email: 'a@b', email_verified: true }, true],
    ['an email that is not', { email: 'a@b' }, { email: 'a@b', email_verified: false }, false],
    ['an email in a list', { '/email/0': 'a@b' }, { email: ['a@b'] }, false],
    ['a part of an email', { '/email/at': 'b' }, { email: { at: 'b' } }, false],
    ['an email verified as text', { email: '*' }, { email: 'a', email_verified: 'true' }, true],
  ])('%s', (_name, conditions, claims, expected) => {
    expect(meets(conditions, claims)).toBe(expected)
  })

  test('names the claims that match, with their values, and what is missing', () => {
    const conditions = { id: 7, ref: 'refs/*', groups: 'b', '/k/ns': 'x', gone: 'y' }
    const claims = { id: '7', ref: 'refs/heads/main', groups: ['a', 'b'], k: { ns: 'x' } }
    expect(matchClaims(conditions, claims)).toBeUndefined()
    expect(explainUnmet(conditions, claims)).toEqual([
      '“id” is “7”, not the number 7. Write the condition with the type of the claim.',
      'The token has no claim “gone”.',
    ])
    const { id: _id, gone: _gone, ...met } = conditions
    expect(matchClaims(met, claims)).toEqual([
      ['ref', 'refs/heads/main'],
      ['groups', 'b'],
      ['/k/ns', 'x'],
    ])
    expect(explainUnmet(met, claims)).toEqual([])
  })

  test('that a person does not meet costs no search for a claim that it may mean', () => {
    const ownKeys = vi.fn(Reflect.ownKeys)
    const claims = new Proxy<Record<string, unknown>>({ Groups: ['a'] }, { ownKeys })
    const issuer = 'https://issuer.example'
    const rule = {
      ...({ id: '1', for: 'people', issuer, name: 'n', role: 'reader', enabled: true } as const),
      ...{ conditions: { groups: 'a' }, createTime: '', updateTime: '' },
    }
    expect(grantsOf({ issuer, claims }, [rule])).toEqual([])
    expect(ownKeys).not.toHaveBeenCalled()
  })
})

test.each([
  ['/kubernetes/io/namespace', '/kubernetes.io/namespace'],
  ['/kubernetes.io/Namespace', '/kubernetes.io/namespace'],
  ['namespace', '/kubernetes.io/namespace'],
  ['space', undefined],
  ['/realm_access.roles', '/realm_access/roles'],
  ['https://acme.test/Groups', 'https://acme.test/groups'],
  ['other', undefined],
])('a claim that is somewhere else is named: %s', (name, found) => {
  const claims = {
    'kubernetes.io': { namespace: 'a' },
    realm_access: { roles: ['b'] },
    'https://acme.test/groups': 'c',
  }
  const hint = found === undefined ? '' : ` It has “${found}”.`
  expect(explainUnmet({ [name]: 'x' }, claims)).toEqual([
    `The token has no claim “${name}”.${hint}`,
  ])
})

test.each<[unknown[], string]>([
  [['/platform', 'dev', 7], 'it has “/platform”, “dev”, the number 7'],
  [[], 'it is empty'],
  [['a', 'b', 'c', 'd', 'e', 'f'], 'it has “a”, “b”, “c”, “d”, “e”, …'],
])('the elements of a list that none of meets the condition are named: %j', (groups, found) => {
  expect(explainUnmet({ groups: 'platform' }, { groups })).toEqual([
    `No element of “groups” is “platform”: ${found}.`,
  ])
})

test.each([
  [undefined, 'email_verified is missing'],
  [false, 'email_verified is the boolean false, not true'],
  ['false', 'email_verified is “false”, not true'],
])('an email with email_verified %s is not met, and says why', (email_verified, reason) => {
  const claims = { email: 'a@b', ...(email_verified === undefined ? {} : { email_verified }) }
  expect(explainUnmet({ email: 'a@b' }, claims)).toEqual([
    `${reason}, so the email may belong to another person.`,
  ])
  expect(explainUnmet({ email: 'a@b' }, { ...claims, email_verified: 'true' })).toEqual([])
})

test.each([
  ['kubernetes.io/namespace', '/kubernetes.io/namespace'],
  ['kubernetes.io.serviceaccount.name', '/kubernetes.io/serviceaccount/name'],
])('the name %s is rejected with the pointer that is meant', (name, pointer) => {
  expect(() => requireConditions({ [name]: 'x' })).toThrow(`write the JSON pointer “${pointer}”`)
})

test.each([
  'https://example.com/roles',
  'urn:acme:group',
  'cognito:groups',
  'oidc.circleci.com/project-id',
  '/kubernetes.io/namespace',
])('the name %s may be meant', (name) => {
  expect(() => requireConditions({ [name]: 'repo:acme/orders.api:ref:refs/heads/*' })).not.toThrow()
})

describe('conditions that cannot be meant are rejected', () => {
  test.each<[string, Record<string, ClaimValue>]>([
    ['a star inside', { sub: 'repo:*:main' }],
    ['an empty value', { sub: '' }],
    ['an empty name', { '': 'x' }],
    ['a control character', { sub: 'a\u0000' }],
    ['a fraction', { id: 1.5 }],
    ['a number that is not kept', { id: 2 ** 53 }],
    ['a broken pointer', { '/a~2': 'x' }],
    ['a regular expression from start to end', { sub: '^repo:acme$' }],
    ['a regular expression with alternatives', { sub: 'repo:(a|b)' }],
    ['an escaped dot', { sub: 'a\\.b' }],
    ['a value that is too long', { sub: 'a'.repeat(1_025) }],
    ['too many', Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`a${at}`, 'x']))],
  ])('%s', (_name, conditions) => {
    expect(() => requireConditions(conditions)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    )
  })
})
