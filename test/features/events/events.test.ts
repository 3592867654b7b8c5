import { describe, expect, test } from 'vitest'
import type { Event } from '../../../packages/server/src/features/events/contract.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { patchKey, registerKey } from '../../support/app/keys.ts'
import { recordFault } from '../../support/faults/results.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'

const eventsUrl = '/v1/projects/payments/events'

const server = await startApp()

const page = async (url: string): Promise<Event[]> => (await server.send('GET', url)).json()

test('every change of a project and its keys is an event: who, when, what', async () => {
  const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'told' } })).json()
  const keys = '/v1/projects/told/jwt-keys'
  const writer = { 'x-api-key': await server.apiKey('writer') }
  const kid = await registerKey(server, {}, keys)
  const patched = await server.send('PATCH', `${keys}/${kid}`, {
    body: { active: false, label: 'off' },
    headers: writer,
  })
  await server.send('PATCH', `${keys}/${kid}`, { body: { active: false } })
  await server.send('POST', keys, {
    body: { name: 'n', algorithm: 'ES256', publicKeyPem: privatePem(ecKey()) },
  })
  await server.send('DELETE', `${keys}/${kid}`)
  await server.send('PATCH', '/v1/projects/told', { body: { name: 'retold' } })
  const events = await page(`/v1/projects/${id}/events`)
  expect(events.map(({ revision, type }) => [revision, type])).toEqual([
    [1, 'project.created'],
    [2, 'key.created'],
    [3, 'key.updated'],
    [4, 'private_key.refused'],
    [5, 'key.deleted'],
    [6, 'project.renamed'],
  ])
  const digest = expect.stringMatching(/^[\w-]{43}$/)
  expect(events[2]).toEqual({
    revision: 3,
    type: 'key.updated',
    time: patched.json().updateTime,
    actor: { apiKeyId: expect.stringMatching(/^[0-9a-f-]{36}$/), name: 'a writer' },
    subject: { type: 'key', id: kid },
    label: 'off',
    changes: {
      label: { from: 'n', to: 'off' },
      active: { from: true, to: false },
      state: { to: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
    published: { list: digest, jwks: digest, jwksFull: digest },
    requestId: patched.headers['x-request-id'],
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(JSON.stringify(events)).not.toMatch(/PRIVATE KEY|PUBLIC KEY|null|pubring_/)
})

describe('pages', () => {
  test('of 50, or as many as asked for, up to 200; the links lead through all of them', async () => {
    const kid = await registerKey(server)
    for (let i = 0; i < 60; i += 1) await patchKey(server, kid, { label: `l${i}` })
    expect((await page(eventsUrl)).length).toBe(50)
    const all = await page(`${eventsUrl}?limit=200`)
    expect(all.map(({ revision }) => revision)).toEqual(all.map((_, i) => i + 1))
    const found: Event[] = []
    let next: string | undefined = `${eventsUrl}?limit=25`
    while (next !== undefined) {
      const answer = await server.send('GET', next, { headers: { host: 'evil.example' } })
      found.push(...answer.json())
      const [, link] = /^<(.+)>; rel="next"$/.exec(String(answer.headers.link ?? '')) ?? []
      expect(
        link?.startsWith(`${publicUrl}/v1/projects/${server.project.id}/events?`) ?? true,
      ).toBe(true)
      next = link?.slice(publicUrl.length)
    }
    expect(found).toEqual(all)
    expect(await page(`${eventsUrl}?after=${all.length}`)).toEqual([])
    expect((await page(`${eventsUrl}?after=${all.length - 1}`)).length).toBe(1)
  })

  test.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'after=-1',
    'after=1.5',
    'after=1.0123456',
    'after=1.0123456A',
    'after=1234567890123456',
    'after=',
    'afterwards=1',
    'after=1&after=2',
  ])('?%s is refused', async (query) => {
    const answer = await server.send('GET', `${eventsUrl}?${query}`)
    expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request' })
  })

  test.each(['asc', 'desc'])(
    'are linked by positions that no other history has (%s)',
    async (order) => {
      const { headers } = await server.send('GET', `${eventsUrl}?limit=2&order=${order}`)
      const [, end, revision, hash] =
        /[?&](after|before)=(\d+)\.([0-9a-f]{8})&/.exec(String(headers.link)) ?? []
      const [event] = await page(`${eventsUrl}?after=${Number(revision) - 1}&limit=1`)
      expect(event?.hash.slice(0, 8)).toBe(hash)
      const query = `limit=2&order=${order}&${end}=${revision}`
      expect(await page(`${eventsUrl}?${query}.${hash}`)).toEqual(
        await page(`${eventsUrl}?${query}`),
      )
      const other = await server.send('GET', `${eventsUrl}?${query}.00000000`)
      expect(other.json()).toMatchObject({ status: 409, code: 'history_changed' })
    },
  )

  test('after an event of another history are 409 history_changed', async () => {
    const all = await page(`${eventsUrl}?limit=200`)
    const last = all.at(-1)
    const position = `${last?.revision}.${last?.hash.slice(0, 8)}`
    expect(await page(`${eventsUrl}?after=${position}`)).toEqual([])
    for (const after of [`${last?.revision}.00000000`, `${all.length + 1}`, '999999999999999']) {
      const answer = await server.send('GET', `${eventsUrl}?after=${after}`)
      expect(answer.json()).toMatchObject({ status: 409, code: 'history_changed' })
    }
    recordFault({
      fault: 'A reader of the ledger is ahead of it, or has read another history',
      observed: '409 history_changed for each, instead of an empty page',
      acknowledged: 0,
      lost: 0,
    })
  })

  test.each([
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['application/json, text/event-stream', 'application/json'],
    ['text/event-stream;q=0', 'application/json'],
  ])('Accept: %s gives a page', async (accept, type) => {
    const answer = await server.send('GET', eventsUrl, { headers: { accept } })
    expect(answer.headers['content-type']).toBe(type)
    expect(answer.headers.vary).toBe('Accept')
  })

  test('HEAD is a page without content, also for a stream', async () => {
    for (const accept of ['application/json', 'text/event-stream']) {
      const answer = await server.send('HEAD', eventsUrl, { headers: { accept } })
      expect(answer.statusCode).toBe(200)
      expect(answer.body).toBe('')
    }
  })
})

describe('who may read which ledger', () => {
  test('that of a deleted project stays readable to an unbound admin by id, and to no other caller', async () => {
    const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'gone' } })).json()
    const bound = await server.apiKey('admin', server.project.id)
    await server.send('DELETE', '/v1/projects/gone')
    const events = await page(`/v1/projects/${id.toUpperCase()}/events`)
    expect(events.map(({ type }) => type)).toEqual(['project.created', 'project.deleted'])
    const refused = async (url: string, secret: string) =>
      (await server.send('GET', url, { headers: { 'x-api-key': secret } })).json().code
    expect(await refused('/v1/projects/gone/events', server.admin)).toBe('project_not_found')
    for (const secret of [await server.apiKey('writer'), bound]) {
      expect(await refused(`/v1/projects/${id}/events`, secret)).toBe('project_not_found')
    }
  })

  test.each([
    '00000000-0000-0000-0000-000000000000',
    '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    'nope',
  ])('%s is no project', async (id) => {
    const answer = await server.send('GET', `/v1/projects/${id}/events`)
    expect(answer.json().code).toBe('project_not_found')
  })

  test("the registry's ledger has projects and API keys", async () => {
    const events = await page('/v1/events?limit=200')
    const types = new Set(events.map(({ type }) => type))
    expect([...types].sort()).toEqual(
      [
        'api_key.created',
        'api_key.deleted',
        'project.created',
        'project.deleted',
        'project.renamed',
      ].filter((type) => types.has(type)),
    )
    expect(types.has('api_key.created')).toBe(true)
    expect(events.map(({ revision }) => revision)).toEqual(events.map((_, i) => i + 1))
    const answer = await server.send('GET', '/v1/events?limit=1')
    expect(answer.headers.link).toBe(
      `<${publicUrl}/v1/events?limit=1&after=1.${answer.json()[0].hash.slice(0, 8)}>; rel="next"`,
    )
  })
})
