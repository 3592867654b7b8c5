import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { expectWithin } from '../../support/timing.ts'

const server = await startApp()
await server.send('POST', '/v1/projects', { body: { name: 'other' } })

interface ApiKeyAnswer {
  id: string
  apiKey: string
  [member: string]: unknown
}

async function create(body: object, as = server.admin): Promise<ApiKeyAnswer> {
  const headers = { 'x-api-key': as }
  const answer = await server.send('POST', '/v1/api-keys', {
    headers,
    body: { name: 'n', role: 'reader', ...body },
  })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}

const at = (id: string) => `/v1/api-keys/${id}`
const self = (secret: string) =>
  server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })
const patch = (id: string, body: object, as = server.admin) =>
  server.send('PATCH', at(id), { body, headers: { 'x-api-key': as } })
const codeOf = (answer: { json(): { code?: string } }) => answer.json().code

describe('an API key', () => {
  test('is created with its secret, which is shown this once', async () => {
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
    const read = await server.send('GET', at(shown.id))
    const list = await server.send('GET', '/v1/api-keys')
    expect(read.json()).toEqual(shown)
    expect(list.json()).toContainEqual(shown)
    expect(read.body + list.body).not.toContain(apiKey.slice(8, 32))
  })

  test('is in the database as a digest alone', async () => {
    const { apiKey } = await create({})
    const stored = await server.database.dump()
    expect(stored).toContain(apiKey.slice(0, 12))
    expect(stored).not.toContain(apiKey.slice(12))
  })

  test('reads itself with any role', async () => {
    const { id, apiKey } = await create({ name: 'me' })
    expect((await self(apiKey)).json()).toMatchObject({ id, name: 'me', role: 'reader' })
  })

  test('is listed oldest first', async () => {
    const list = (await server.send('GET', '/v1/api-keys')).json()
    const times = list.map(({ createTime }: { createTime: string }) => createTime)
    expect(times).toEqual(times.toSorted())
  })

  test.each([
    [{ name: 'new name' }],
    [{ role: 'writer' }],
    [{ active: false }],
    [{ expireTime: '2099-01-01T00:00:00.000Z' }],
    [{ name: 'all', role: 'admin', active: true, expireTime: '2099-01-01T00:00:00.000Z' }],
  ])('is changed by %j, which reading it shows', async (body) => {
    const { id, apiKey: _apiKey, ...before } = await create({})
    const changed = await patch(id, body)
    expect(changed.statusCode).toBe(200)
    expect(changed.json()).toEqual({ id, ...before, ...body })
    expect((await server.send('GET', at(id))).json()).toEqual(changed.json())
  })

  test('an expired one is switched on again only with a new expireTime', async () => {
    const { id } = await create({ expireTime: new Date(Date.now() + 50).toISOString() })
    await delay(60)
    const on = await server.send('PATCH', `/v1/api-keys/${id}`, { body: { active: true } })
    expect(on.json()).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ pointer: '/active', code: 'key_expired' }],
    })
    const body = { active: true, expireTime: null }
    const cleared = await server.send('PATCH', `/v1/api-keys/${id}`, { body })
    expect(cleared.json()).toMatchObject({ active: true })
  })

  test('is changed by a merge patch media type too, and null clears expireTime', async () => {
    const { id } = await create({ expireTime: '2099-01-01T00:00:00Z' })
    const changed = await server.send('PATCH', at(id), {
      body: { expireTime: null },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expect(changed.json()).not.toHaveProperty('expireTime')
  })

  test.each([
    [{ name: '' }, '/name'],
    [{ name: 12 }, '/name'],
    [{ name: null }, '/name'],
    [{ role: 'owner' }, '/role'],
    [{ role: null }, '/role'],
    [{ active: 'false' }, '/active'],
    [{ expireTime: '2020-01-01T00:00:00Z' }, '/expireTime'],
    [{ expireTime: 'soon' }, '/expireTime'],
    [{ project: 'payments' }, '/project'],
    [{ projectId: null }, '/projectId'],
    [{ apiKey: 'x' }, '/apiKey'],
    [{ digest: 'x' }, '/digest'],
  ])('is not changed by %j', async (body, pointer) => {
    const { id } = await create({})
    const before = (await server.send('GET', at(id))).json()
    const refused = await patch(id, body)
    expect(refused.statusCode).toBe(400)
    expect(refused.json().errors[0].pointer).toBe(pointer)
    expect((await server.send('GET', at(id))).json()).toEqual(before)
  })

  test('is gone when it is revoked: for its holder, for readers and for a second revocation', async () => {
    const { id, apiKey } = await create({})
    expect((await self(apiKey)).statusCode).toBe(200)
    expect((await server.send('DELETE', at(id))).statusCode).toBe(204)
    expect(codeOf(await self(apiKey))).toBe('invalid_api_key')
    expect(codeOf(await server.send('GET', at(id)))).toBe('api_key_not_found')
    expect(codeOf(await patch(id, { active: true }))).toBe('api_key_not_found')
    expect(codeOf(await server.send('DELETE', at(id)))).toBe('api_key_not_found')
  })

  test('goes with the project that it is bound to', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'short-lived' } })
    const { id, apiKey } = await create({ project: 'short-lived' })
    expect((await server.send('DELETE', '/v1/projects/short-lived')).statusCode).toBe(204)
    expect(codeOf(await self(apiKey))).toBe('invalid_api_key')
    expect(codeOf(await server.send('GET', at(id)))).toBe('api_key_not_found')
  })
})

describe('lastUseTime', () => {
  const lastUse = async (id: string) => (await server.send('GET', at(id))).json().lastUseTime

  test('is when the API key was used last, written later', async () => {
    const { id, apiKey } = await create({})
    expect(await lastUse(id)).toBeUndefined()
    const before = new Date().toISOString()
    await self(apiKey)
    await server.app.authenticator.flush()
    const first = await lastUse(id)
    expect(first >= before && first <= new Date().toISOString()).toBe(true)
    await self(apiKey)
    await server.app.authenticator.flush()
    expect((await lastUse(id)) >= first).toBe(true)
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

  test('does not move once the API key opens nothing, and makes no event', async () => {
    const { id, apiKey } = await create({})
    await self(apiKey)
    await patch(id, { active: false })
    await server.app.authenticator.flush()
    const last = await lastUse(id)
    expect(last).toBeDefined()
    const revision = (await server.context.store.heads([systemLedger])).get(systemLedger)?.revision
    await self(apiKey)
    await server.app.authenticator.flush()
    expect(await lastUse(id)).toBe(last)
    expect((await server.context.store.heads([systemLedger])).get(systemLedger)?.revision).toBe(
      revision,
    )
  })
})

const systemLedger = '00000000-0000-0000-0000-000000000000'

describe('an admin bound to a project', () => {
  test('lists the API keys of its project alone, itself among them', async () => {
    const { apiKey, id } = await create({ role: 'admin', project: 'other' })
    const { id: reader } = await create({ project: 'other' }, apiKey)
    const list = await server.send('GET', '/v1/api-keys', { headers: { 'x-api-key': apiKey } })
    expect(list.json().map((each: ApiKeyAnswer) => each.id)).toEqual([id, reader])
  })

  test('changes and revokes those, up to admin of that project', async () => {
    const { apiKey } = await create({ role: 'admin', project: 'other' })
    const { id, projectId } = await create({ project: 'other' }, apiKey)
    expect((await patch(id, { role: 'admin' }, apiKey)).json()).toMatchObject({
      role: 'admin',
      projectId,
    })
    const headers = { 'x-api-key': apiKey }
    expect((await server.send('DELETE', at(id), { headers })).statusCode).toBe(204)
  })

  test.each([
    [{}, 403, 'insufficient_role'],
    [{ project: 'payments' }, 404, 'project_not_found'],
    [{ project: newId() }, 404, 'project_not_found'],
    [{ project: null }, 400, 'invalid_request'],
    [{ project: '' }, 404, 'project_not_found'],
    [{ projectId: null }, 400, 'invalid_request'],
  ])('cannot make a wider one with %j', async (body, status, code) => {
    const { apiKey } = await create({ role: 'admin', project: 'other' })
    const before = (await server.send('GET', '/v1/api-keys')).json().length
    const answer = await server.send('POST', '/v1/api-keys', {
      body: { name: 'n', role: 'reader', ...body },
      headers: { 'x-api-key': apiKey },
    })
    expect([answer.statusCode, codeOf(answer)]).toEqual([status, code])
    expect((await server.send('GET', '/v1/api-keys')).json()).toHaveLength(before)
  })
})

describe('the last admin API key for all projects', () => {
  const harmful: object[] = [
    { role: 'writer' },
    { active: false },
    { expireTime: '2099-01-01T00:00:00Z' },
    { role: 'admin', active: false, name: 'x' },
  ]

  async function alone() {
    const app = await startApp()
    const id = (await app.send('GET', '/v1/api-keys/self')).json().id
    // None of these is one that lasts.
    await app.apiKey('admin', app.project.id)
    await app.apiKey('admin', undefined, '2099-01-01T00:00:00.000Z')
    await app.apiKey('writer')
    return { app, id }
  }

  test('cannot be revoked, demoted, switched off or given an expiry', async () => {
    const { app, id } = await alone()
    for (const body of harmful) {
      const answer = await app.send('PATCH', at(id), { body })
      expect([answer.statusCode, codeOf(answer)]).toEqual([409, 'last_admin'])
    }
    const answer = await app.send('DELETE', at(id))
    expect([answer.statusCode, codeOf(answer)]).toEqual([409, 'last_admin'])
    expect((await app.send('GET', at(id))).json()).toMatchObject({ active: true, role: 'admin' })
  })

  test('can be renamed, and everything else once there is another', async () => {
    const { app, id } = await alone()
    expect((await app.send('PATCH', at(id), { body: { name: 'root' } })).statusCode).toBe(200)
    const headers = { 'x-api-key': await app.apiKey('admin') }
    for (const body of harmful) {
      expect((await app.send('PATCH', at(id), { body, headers })).statusCode).toBe(200)
      const back = { role: 'admin', active: true, expireTime: null }
      await app.send('PATCH', at(id), { body: back, headers })
    }
    expect((await app.send('DELETE', at(id), { headers })).statusCode).toBe(204)
  })

  test('of two that are revoked at once, by each other, one stays', async () => {
    const { app, id } = await alone()
    const second = await app.apiKey('admin')
    const { id: other } = (
      await app.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': second } })
    ).json()
    const answers = await Promise.all([
      app.send('DELETE', at(other)),
      app.send('DELETE', at(id), { headers: { 'x-api-key': second } }),
    ])
    const statuses = answers.map(({ statusCode }) => statusCode).sort()
    expect([
      [204, 409],
      [204, 401],
    ]).toContainEqual(statuses.toSorted((a, b) => a - b))
  })
})
