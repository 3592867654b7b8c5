import { describe, expect, test } from 'vitest'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { expectWithin } from '../../support/timing.ts'

const clock = testClock()
const server = await startApp({ clock })
await server.send('POST', '/v1/projects', { body: { name: 'other' } })

interface ApiKeyAnswer {
  id: string
  apiKey: string
  [member: string]: unknown
}

const post = (body: object, as = server.admin) =>
  server.send('POST', '/v1/api-keys', {
    headers: { 'x-api-key': as },
    body: { name: 'n', role: 'reader', ...body },
  })
async function create(body: object, as = server.admin): Promise<ApiKeyAnswer> {
  const answer = await post(body, as)
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}

const at = (id: string) => `/v1/api-keys/${id}`
const self = (secret: string) =>
  server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })
const patch = (id: string, body: object, as = server.admin) =>
  server.send('PATCH', at(id), { body, headers: { 'x-api-key': as } })
const remove = (id: string, as = server.admin) =>
  server.send('DELETE', at(id), { headers: { 'x-api-key': as } })
const read = async (id: string) => (await server.send('GET', at(id))).json()
const list = async () => (await server.send('GET', '/v1/api-keys')).json()
const codeOf = (answer: { json(): { code?: string } }) => answer.json().code

describe('an API key', () => {
  test('is created with its secret, which is shown this once and stored as a digest alone', async () => {
    const answer = await server.send('POST', '/v1/api-keys', {
      body: { name: ' deploy ', role: 'writer', project: 'PAYMENTS' },
    })
    const { apiKey, ...shown } = answer.json()
    expect(apiKey).toMatch(/^pubring_[0-9A-Za-z]{49}$/)
    expect(shown).toEqual({
      id: expect.any(String),
      name: 'deploy',
      role: 'writer',
      projectId: server.project.id,
      prefix: apiKey.slice(0, 12),
      active: true,
      createTime: expect.any(String),
    })
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers.location).toBe(`${publicUrl}${at(shown.id)}`)
    expect(await read(shown.id)).toEqual(shown)
    const listed: ApiKeyAnswer[] = await list()
    expect(listed).toContainEqual(shown)
    const times = listed.map(({ createTime }) => createTime)
    expect(times).toEqual(times.toSorted())
    expect(JSON.stringify(listed)).not.toContain(apiKey.slice(8, 32))
    const stored = await server.database.dump()
    expect(stored).toContain(apiKey.slice(0, 12))
    expect(stored).not.toContain(apiKey.slice(12))
  })

  test.each([
    [{ name: 'new name' }],
    [{ name: 'all', role: 'admin', active: false, expireTime: '2099-01-01T00:00:00.000Z' }],
  ])('is changed by %j, which reading it shows, itself too', async (body) => {
    const { id, apiKey, ...before } = await create({})
    const changed = await patch(id, body)
    expect(changed.json()).toEqual({ id, ...before, ...body })
    expect(await read(id)).toEqual(changed.json())
    if (changed.json().active) expect((await self(apiKey)).json()).toMatchObject({ id, ...body })
  })

  test('an expired one is switched on again only with a new expireTime', async () => {
    const { id } = await create({ expireTime: new Date(clock.now() + 1_000).toISOString() })
    clock.advance(1_000)
    expect((await patch(id, { active: true })).json()).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ pointer: '/active', code: 'key_expired' }],
    })
    const cleared = await server.send('PATCH', at(id), {
      body: { active: true, expireTime: null },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(cleared.json()).toMatchObject({ active: true })
    expect(cleared.json()).not.toHaveProperty('expireTime')
  })

  test.each([
    [{ name: '' }, '/name'],
    [{ name: null }, '/name'],
    [{ role: 'owner' }, '/role'],
    [{ active: 'false' }, '/active'],
    [{ expireTime: '2020-01-01T00:00:00Z' }, '/expireTime'],
    [{ expireTime: 'soon' }, '/expireTime'],
    [{ project: 'payments' }, '/project'],
    [{ projectId: null }, '/projectId'],
    [{ digest: 'x' }, '/digest'],
  ])('is not changed by %j', async (body, pointer) => {
    const { id } = await create({})
    const before = await read(id)
    const refused = await patch(id, body)
    expect(refused.json()).toMatchObject({ status: 400, errors: [{ pointer }] })
    expect(await read(id)).toEqual(before)
  })

  test('is gone when it is revoked, or the project that it is bound to is deleted', async () => {
    const { id, apiKey } = await create({})
    expect((await self(apiKey)).statusCode).toBe(200)
    expect((await remove(id)).statusCode).toBe(204)
    expect(codeOf(await self(apiKey))).toBe('invalid_api_key')
    expect(codeOf(await server.send('GET', at(id)))).toBe('api_key_not_found')
    expect(codeOf(await patch(id, { active: true }))).toBe('api_key_not_found')
    expect(codeOf(await remove(id))).toBe('api_key_not_found')
    await server.send('POST', '/v1/projects', { body: { name: 'short-lived' } })
    const bound = await create({ project: 'short-lived' })
    expect((await server.send('DELETE', '/v1/projects/short-lived')).statusCode).toBe(204)
    expect(codeOf(await self(bound.apiKey))).toBe('invalid_api_key')
    expect(codeOf(await server.send('GET', at(bound.id)))).toBe('api_key_not_found')
  })
})

describe('lastUseTime', () => {
  const lastUse = async (id: string) => (await read(id)).lastUseTime
  const revision = async () =>
    (await server.context.store.heads([systemLedgerId])).get(systemLedgerId)?.revision

  test('is when the API key was used last, without an event, and not once it opens nothing', async () => {
    const { id, apiKey } = await create({})
    expect(await lastUse(id)).toBeUndefined()
    const before = new Date(clock.now()).toISOString()
    await self(apiKey)
    const head = await revision()
    await server.app.authenticator.flush()
    expect(await revision()).toBe(head)
    const last = await lastUse(id)
    expect(last >= before && last <= new Date(clock.now()).toISOString()).toBe(true)
    await patch(id, { active: false })
    clock.advance(1_000)
    await self(apiKey)
    await server.app.authenticator.flush()
    expect(await lastUse(id)).toBe(last)
  })

  test('keeps no caller waiting: reads are answered while another process holds the write lock', async () => {
    const { id, apiKey } = await create({})
    const lock = await server.database.lockWrites()
    await self(apiKey)
    const written = server.app.authenticator.flush()
    const start = performance.now()
    for (const url of ['/v1/api-keys/self', '/v1/projects', '/v1/projects/payments/jwt-keys']) {
      const answer = await server.send('GET', url, { headers: { 'x-api-key': apiKey } })
      expect(answer.statusCode).toBe(200)
    }
    expectWithin(1_000, performance.now() - start)
    expect(await lastUse(id)).toBeUndefined()
    await lock.release()
    await written
    expect(await lastUse(id)).toBeDefined()
  })
})

describe('an admin bound to a project', () => {
  test('lists, changes and revokes the API keys of its project alone, up to admin of it', async () => {
    const { apiKey, id } = await create({ role: 'admin', project: 'other' })
    const { id: reader, projectId } = await create({ project: 'other' }, apiKey)
    const headers = { 'x-api-key': apiKey }
    const listed = await server.send('GET', '/v1/api-keys', { headers })
    expect(listed.json().map((each: ApiKeyAnswer) => each.id)).toEqual([id, reader])
    const promoted = await patch(reader, { role: 'admin' }, apiKey)
    expect(promoted.json()).toMatchObject({ role: 'admin', projectId })
    expect((await remove(reader, apiKey)).statusCode).toBe(204)
  })

  test.each([
    [{}, 403, 'insufficient_role'],
    [{ project: 'payments' }, 404, 'project_not_found'],
    [{ project: '' }, 404, 'project_not_found'],
    [{ project: null }, 400, 'invalid_request'],
  ])('cannot make a wider one with %j', async (body, status, code) => {
    const { apiKey } = await create({ role: 'admin', project: 'other' })
    const before = (await list()).length
    const answer = await post(body, apiKey)
    expect([answer.statusCode, codeOf(answer)]).toEqual([status, code])
    expect(await list()).toHaveLength(before)
  })
})

describe('an API key that expires', async () => {
  const [earlier, own, later] = ['2089', '2090', '2091'].map((y) => `${y}-01-01T00:00:00.000Z`)
  const caller = await create({ role: 'admin', expireTime: own })
  const bound = await create({ role: 'admin', expireTime: own, project: 'payments' })

  type Answer = Awaited<ReturnType<typeof post>>
  function expectRefused(answer: Answer, pointer: string, code: string) {
    expect([answer.statusCode, codeOf(answer)]).toEqual([403, 'insufficient_lifetime'])
    expect(answer.json().errors).toMatchObject([{ pointer, code }])
  }

  test.each([null, later, earlier])('cannot set its own expireTime to %s', async (expireTime) => {
    for (const { id, apiKey } of [caller, bound]) {
      const before = await read(id)
      const refused = await patch(id, { expireTime, name: 'mine' }, apiKey)
      expectRefused(refused, '/expireTime', 'own_expiry')
      expect(await read(id)).toMatchObject({ name: before.name, expireTime: own })
    }
  })

  test('can send itself back as it was read, and change its name', async () => {
    const body = { expireTime: own, active: true, name: 'renamed' }
    expect((await patch(caller.id, body, caller.apiKey)).json()).toMatchObject(body)
  })

  test('creates API keys that expire no later, and no others', async () => {
    const before = (await list()).length
    for (const expiry of [{}, { expireTime: later }]) {
      const refused = await post(expiry, caller.apiKey)
      expectRefused(refused, '/expireTime', 'too_late')
      expect(refused.json().detail).toContain(own)
      const ofProject = await post({ ...expiry, project: 'payments' }, bound.apiKey)
      expectRefused(ofProject, '/expireTime', 'too_late')
    }
    expect(await list()).toHaveLength(before)
    const created = await create({ role: 'admin', expireTime: own }, caller.apiKey)
    expect(created).toMatchObject({ expireTime: own })
  })

  test.each<[string, object, object, string]>([
    ['extend beyond its own', { expireTime: earlier }, { expireTime: later }, 'expireTime'],
    ['clear', { expireTime: earlier }, { expireTime: null }, 'expireTime'],
    ['extend, already beyond its own,', { expireTime: later }, { expireTime: null }, 'expireTime'],
    ['promote, with a later one,', {}, { role: 'admin' }, 'role'],
    ['activate, with a later one,', { active: false }, { active: true }, 'active'],
  ])(
    'cannot %s another',
    async (_name, { active, ...members }: { active?: boolean }, change, at) => {
      const { id } = await create(members)
      if (active === false) await patch(id, { active })
      const before = await read(id)
      expectRefused(await patch(id, change, caller.apiKey), `/${at}`, 'too_late')
      expect(await read(id)).toEqual(before)
    },
  )

  test('can promote and activate one that does not outlive it afterwards', async () => {
    const { id } = await create({})
    await patch(id, { active: false })
    const body = { role: 'admin', active: true, expireTime: own }
    expect((await patch(id, body, caller.apiKey)).json()).toMatchObject(body)
  })

  test('can take rights away from an API key that outlives it, and end itself', async () => {
    const { id } = await create({ role: 'admin' })
    const less = [{ name: 'less' }, { expireTime: later }, { role: 'reader' }, { active: false }]
    for (const body of less) {
      expect((await patch(id, body, caller.apiKey)).json()).toMatchObject(body)
    }
    expect((await remove(id, caller.apiKey)).statusCode).toBe(204)
    const other = await create({ role: 'admin', expireTime: own })
    const ended = await patch(`${other.id}?confirm=self`, { active: false }, other.apiKey)
    expect(ended.json()).toMatchObject({ active: false })
  })

  test('may have set this expiry for itself, and not clear it then', async () => {
    const { id, apiKey } = await create({ role: 'admin' })
    const limited = await patch(`${id}?confirm=self`, { expireTime: later }, apiKey)
    expect(limited.statusCode).toBe(200)
    expectRefused(await patch(id, { expireTime: null }, apiKey), '/expireTime', 'own_expiry')
  })
})

test('of two last admins that revoke each other at once, one stays', async () => {
  const app = await startApp()
  const { id } = (await app.send('GET', '/v1/api-keys/self')).json()
  // None of these is one that lasts.
  await app.apiKey('admin', app.project.id)
  await app.apiKey('admin', undefined, '2099-01-01T00:00:00.000Z')
  const headers = { 'x-api-key': await app.apiKey('admin') }
  const { id: other } = (await app.send('GET', '/v1/api-keys/self', { headers })).json()
  const answers = await Promise.all([
    app.send('DELETE', at(other)),
    app.send('DELETE', at(id), { headers }),
  ])
  const statuses = answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
  expect([
    [204, 409],
    [204, 401],
  ]).toContainEqual(statuses)
})

test('no more than 1,000 API keys are bound to a project, whoever creates them', async () => {
  const crowded = await startApp()
  const headers = { 'x-api-key': await crowded.apiKey('admin', crowded.project.id) }
  await crowded.database.execute(
    `insert into api_key (id, name, role, project_id, prefix, digest, enabled, create_time)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 998)
      select 'k' || cast(i as text), 'n', 'reader', ?, 'p', 'd' || cast(i as text), 1, ? from n`,
    crowded.project.id,
    new Date().toISOString(),
  )
  const body = { name: 'n', role: 'reader', project: 'payments' }
  expect((await crowded.send('POST', '/v1/api-keys', { headers, body })).statusCode).toBe(201)
  const refused = await crowded.send('POST', '/v1/api-keys', { body })
  expect(refused.json()).toMatchObject({ status: 409, code: 'api_key_limit_reached', limit: 1_000 })
  const unbound = { name: 'n', role: 'reader' }
  expect((await crowded.send('POST', '/v1/api-keys', { body: unbound })).statusCode).toBe(201)
})
