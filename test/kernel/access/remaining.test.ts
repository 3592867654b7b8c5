import { describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import type { PeopleRule } from '../../../packages/server/src/features/access-rules/stored.ts'
import { people } from '../../../packages/server/src/features/sign-in/stored.ts'
import { pageHeaders, startApp } from '../../support/app/app.ts'
import { createPersonSession, issuer, ruleRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'

const day = 24 * 3_600_000

const oidc = { issuer, clientId: 'pubring', scopes: 'openid' }

/** An application with one permanent admin, an API key, and a rule that makes people admins. */
async function start() {
  let time = Date.now()
  const app = await startApp({
    clock: { now: () => time, monotonic: () => performance.now() },
    config: { oidc },
  })
  const addRule = async (members: Partial<PeopleRule> = {}) => {
    const rule = ruleRecord(members)
    const { store } = app.context
    await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
    return `/v1/access-rules/${rule.id}`
  }
  const { id } = (await app.send('GET', '/v1/api-keys/self')).json()
  const outcome = async (
    method: 'PATCH' | 'DELETE',
    url: string,
    { body, headers }: { body?: object; headers?: Record<string, string> } = {},
  ) => {
    const answer = await app.send(method, url, {
      ...(body && { body }),
      ...(headers && { headers }),
    })
    return answer.statusCode < 300 ? 'done' : answer.json().code
  }
  return {
    app,
    addRule,
    apiKey: `/v1/api-keys/${id}`,
    rule: await addRule(),
    outcome,
    pass: (ms: number) => {
      time += ms
    },
    /** Headers of an admin who is not permanent, whom no change of another takes anything. */
    other: async () => {
      const end = new Date(time + 90 * day).toISOString()
      return { 'x-api-key': await app.apiKey('admin', undefined, end) }
    },
    signIn: async (groups = ['platform']) => {
      const { secret } = await createPersonSession(app.context.store, {}, { groups })
      return pageHeaders(secret)
    },
  }
}

const takings = [{ active: false }, { role: 'writer' }] as const

describe('the last permanent admin', () => {
  test('is an API key while nobody has signed in by the rule within 30 days', async () => {
    const { apiKey, outcome, other, signIn, pass } = await start()
    const headers = await other()
    await signIn(['staff'])
    for (const body of [...takings, { expireTime: '2099-01-01T00:00:00Z' }]) {
      expect(await outcome('PATCH', apiKey, { body, headers })).toBe('last_admin')
    }
    await signIn()
    pass(31 * day)
    expect(await outcome('DELETE', `${apiKey}?confirm=self`, { headers })).toBe('last_admin')
    pass(-31 * day)
    expect(await outcome('DELETE', apiKey, { headers })).toBe('done')
  })

  test('is not somebody with a rule that is bound, weaker, off or of another provider', async () => {
    const { app, rule, addRule, apiKey, outcome, other, signIn } = await start()
    const headers = await other()
    expect(await outcome('DELETE', rule, { headers })).toBe('done')
    await addRule({ projectId: app.project.id })
    await addRule({ role: 'writer' })
    await addRule({ enabled: false })
    await addRule({ issuer: 'https://other.example.com' })
    await signIn()
    expect(await outcome('DELETE', apiKey, { headers })).toBe('last_admin')
  })

  test('is nobody who signed in at a provider that is not the one of this service', async () => {
    const { app, apiKey, outcome, other, signIn } = await start()
    const headers = await other()
    await signIn()
    for (const configured of [undefined, { ...oidc, issuer: 'https://new.example.com' }]) {
      app.context.config.oidc = configured
      expect(await outcome('DELETE', apiKey, { headers })).toBe('last_admin')
    }
  })

  test('is not taken by a change of a rule that makes nobody an admin', async () => {
    const { app, rule, apiKey, outcome, other, addRule } = await start()
    const headers = await other()
    await app.database.execute(`update api_key set enabled = 0 where id = '${apiKey.slice(13)}'`)
    for (const body of [{ name: 'renamed' }, { active: false }]) {
      expect(await outcome('PATCH', rule, { body, headers })).toBe('done')
    }
    expect(await outcome('DELETE', await addRule(), { headers })).toBe('done')
  })

  test('is never taken by a change of the rule, a typo in its conditions included', async () => {
    const { app, rule, apiKey, outcome, signIn } = await start()
    const headers = await signIn()
    expect(await outcome('DELETE', apiKey, { headers })).toBe('done')
    const url = `${rule}?confirm=self`
    for (const body of [...takings, { conditions: { groups: 'platfrom' } }]) {
      expect(await outcome('PATCH', url, { body, headers })).toBe('last_admin')
    }
    expect(await outcome('DELETE', url, { headers })).toBe('last_admin')
    expect(await outcome('PATCH', rule, { body: { name: 'admins' }, headers })).toBe('done')
    const read = await app.send('GET', rule, { headers })
    expect(read.json()).toMatchObject({ name: 'admins', active: true, role: 'admin' })
  })
})

describe('access of the caller is taken only with confirm=self:', () => {
  test('the API key of the request', async () => {
    const { app, apiKey, outcome } = await start()
    await app.apiKey('admin')
    const limit = { expireTime: '2099-01-01T00:00:00Z' }
    for (const body of [...takings, limit]) {
      expect(await outcome('PATCH', apiKey, { body })).toBe('own_access')
    }
    expect(await outcome('DELETE', apiKey)).toBe('own_access')
    expect(await outcome('DELETE', `${apiKey}?confirm=yes`)).toBe('invalid_request')
    expect(await outcome('PATCH', apiKey, { body: { name: 'n' } })).toBe('done')
    expect(await outcome('PATCH', `${apiKey}?confirm=self`, { body: limit })).toBe('done')
    expect(await outcome('DELETE', `${apiKey}?confirm=self`)).toBe('done')
    expect((await app.send('GET', '/v1/self')).statusCode).toBe(401)
  })

  test('the API key of the session of the request', async () => {
    const { app, apiKey, outcome } = await start()
    await app.apiKey('admin')
    const [, secret] = /=(pubring_\w+);/.exec(
      String((await app.send('POST', '/v1/sessions')).headers['set-cookie']),
    ) ?? ['', '']
    const headers = pageHeaders(secret)
    expect(await outcome('DELETE', apiKey, { headers })).toBe('own_access')
    expect(await outcome('DELETE', `${apiKey}?confirm=self`, { headers })).toBe('done')
  })

  test('the rule by which the session has its role', async () => {
    const { rule, outcome, signIn } = await start()
    const headers = await signIn()
    const narrower = { conditions: { sub: 'eve' } }
    for (const body of [...takings, narrower]) {
      expect(await outcome('PATCH', rule, { body, headers })).toBe('own_access')
    }
    expect(await outcome('DELETE', rule, { headers })).toBe('own_access')
    expect(await outcome('PATCH', `${rule}?confirm=self`, { body: narrower, headers })).toBe('done')
    expect(await outcome('DELETE', rule, { headers })).toBe('invalid_session')
  })

  test('not a rule beside another one that gives the same, and not what others use', async () => {
    const { app, rule, addRule, outcome, signIn } = await start()
    const headers = await signIn(['platform', 'staff'])
    await addRule({ conditions: { groups: 'staff' } })
    await app.apiKey('admin')
    for (const url of [rule, await addRule({ conditions: { groups: 'others' } })]) {
      expect(await outcome('DELETE', url, { headers })).toBe('done')
    }
  })
})

test('the check of a change names who would gain and who would lose access', async () => {
  const { app, rule, addRule, signIn } = await start()
  const headers = await signIn(['platform', 'staff'])
  await createPersonSession(app.context.store, {}, { name: 'Grace', groups: ['payments'] })
  await createPersonSession(app.context.store, {}, { name: 'Edsger', groups: ['platform'] })
  await createPersonSession(app.context.store, {}, { name: 'Barbara', groups: ['other'] })
  const check = async (change: object) =>
    (await app.send('POST', `${rule}/checks`, { body: { change }, headers })).json()
  const effects = async (change: object) => {
    const { people } = await check(change)
    return people.map(({ name, effect, self }: Record<string, unknown>) => [name, effect, self])
  }
  const lose = [
    ['Ada Lovelace', 'loses', true],
    ['Edsger', 'loses', false],
  ]
  expect(await effects({ conditions: { groups: 'payments' } })).toEqual([
    lose[0],
    ['Grace', 'gains', false],
    lose[1],
  ])
  expect(await effects({ active: false })).toEqual(lose)
  expect(await effects({ role: 'auditor' })).toEqual(lose)
  expect(await check({ name: 'n' })).toEqual({
    accepted: true,
    steps: [{ step: 'people', outcome: 'passed', detail: expect.stringContaining(' 0 would') }],
    people: [],
  })
  expect((await check({ conditions: { groups: null } })).errors).toMatchObject([
    { code: 'too_wide' },
  ])
  // What another rule gives is not lost.
  await addRule({ conditions: { groups: 'staff' } })
  expect(await effects({ active: false })).toEqual([lose[1]])
  expect((await app.send('GET', rule, { headers })).json()).toMatchObject({ active: true })
})

test('the check of a new rule names who would gain access by it, and stores nothing', async () => {
  const { app, addRule, signIn } = await start()
  const headers = await signIn(['platform', 'staff'])
  await createPersonSession(app.context.store, {}, { name: 'Grace', groups: ['payments'] })
  const check = async (body: object) =>
    (await app.send('POST', '/v1/access-rules/checks', { body, headers })).json()
  const conditions = { groups: 'payments' }
  const rule = { for: 'people', name: 'n', conditions, role: 'reader', allProjects: true }
  const gains = { name: 'Grace', effect: 'gains', self: false }
  expect(await check(rule)).toMatchObject({ accepted: true, people: [gains] })
  expect(await check({ ...rule, active: false })).toMatchObject({ people: [] })
  await addRule({ conditions })
  expect(await check(rule)).toMatchObject({ people: [] })
  const workloads = { ...rule, for: 'workloads', issuer: 'https://issuer.example.com' }
  expect(await check(workloads)).toMatchObject({ accepted: true, people: [] })
  expect((await check({ ...rule, conditions: {} })).errors).toMatchObject([{ code: 'too_wide' }])
  expect((await app.send('GET', '/v1/access-rules', { headers })).json()).toHaveLength(2)
})

test('the claims of people are forgotten after 30 days, and when they are erased', async () => {
  const { app, rule, signIn } = await start()
  const headers = await signIn()
  const { store } = app.context
  const { person } = await createPersonSession(store, {}, { groups: ['payments'] })
  const gains = async () => {
    const body = { change: { conditions: { groups: 'payments' } } }
    const answer = await app.send('POST', `${rule}/checks`, { body, headers })
    return answer.json().people.map(({ id }: { id: string }) => id)
  }
  expect(await gains()).toContain(person.id)
  const old = await createPersonSession(store)
  const claims = async () => (await people.find(store.reader, old.person.id))?.claims
  expect(await claims()).toMatchObject({ groups: ['staff', 'platform'] })
  const past = new Date(Date.now() - 31 * day).toISOString()
  const forget = 'update person set last_sign_in_time = ? where id = ?'
  await app.database.execute(forget, past, old.person.id)
  await signIn()
  expect(await claims()).toBeUndefined()
  expect((await app.send('DELETE', `/v1/people/${person.id}`, { headers })).statusCode).toBe(204)
  expect(await gains()).not.toContain(person.id)
})
