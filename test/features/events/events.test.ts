import { describe, expect, test } from 'vitest'
import type { Event } from '../../../packages/server/src/features/events/contract.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { readStretch } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { recordFault } from '../../support/faults/results.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { distinctKey, keyImport, keyRecord } from '../../support/store/key-records.ts'
import { createPersonSession } from '../../support/store/sessions.ts'

const server = await startApp()
const { store } = server.context
const { person } = await createPersonSession(store, {}, { name: 'Ada', subject: 'u"1' })
const user = { issuer: person.issuer, subject: person.subject, sessionId: newId() }
const project = await newProject(server, 'history')
const eventsUrl = `/v1/projects/${project.id}/events`
const headers = { 'x-api-key': await server.apiKey('writer') }
const kid = await registerKey(server, { name: '=HYPERLINK("x")' }, project.keys)
const other = await registerKey(server, { name: 'other, "quoted"' }, project.keys)
const keyUrl = `${project.keys}/${kid}`
const patched = await server.send('PATCH', keyUrl, { body: { active: false }, headers })
await server.send('PATCH', keyUrl, { body: { active: false } })
await patchKey(server, kid, { label: 'renamed' }, project.keys)
await patchKey(server, kid, { active: true }, project.keys)
await store.commit(keyChanges.updateKey, {
  origin: { actor: { name: '', user }, requestId: newId(), time: new Date().toISOString() },
  projectId: project.id,
  kid: other,
  patch: { active: false },
  limits: { maxKeys: 50, maxJwksBytes: 51_200 },
})
await patchKey(server, kid, { active: false }, project.keys)
await server.send('DELETE', keyUrl)
const secret = { name: 'n', algorithm: 'ES256', publicKeyPem: privatePem(ecKey()) }
await server.send('POST', project.keys, { body: secret })
await server.send('PATCH', '/v1/projects/history', { body: { name: 'told' } })
const all = await read()

async function read(query = '', url = eventsUrl): Promise<Event[]> {
  const response = await server.send('GET', `${url}?${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

const revisions = async (query: string) => (await read(query)).map(({ revision }) => revision)

/** Follows the links to the end; returns the pages. */
async function pages(query: string): Promise<Event[][]> {
  const found: Event[][] = []
  for (let next: string | undefined = `${eventsUrl}?${query}`; next !== undefined; ) {
    const response = await server.send('GET', next, { headers: { host: 'evil.example' } })
    expect(response.statusCode, response.body).toBe(200)
    found.push(response.json())
    const [, link] = /^<(.+)>; rel="next"$/.exec(String(response.headers.link ?? '')) ?? []
    if (link !== undefined) expect(link).toContain(`${publicUrl}${eventsUrl}?`)
    next = link?.slice(publicUrl.length)
  }
  return found
}

test('every change of a project and its keys is an event: who, when, what', () => {
  expect(all.map(({ revision, type, label }) => [revision, type, label])).toEqual([
    [1, 'project.created', 'history'],
    [2, 'key.created', '=HYPERLINK("x")'],
    [3, 'key.created', 'other, "quoted"'],
    [4, 'key.updated', '=HYPERLINK("x")'],
    [5, 'key.updated', 'renamed'],
    [6, 'key.updated', 'renamed'],
    [7, 'key.updated', 'other, "quoted"'],
    [8, 'key.updated', 'renamed'],
    [9, 'key.deleted', 'renamed'],
    [10, 'private_key.refused', 'history'],
    [11, 'project.renamed', 'told'],
  ])
  const [digest, hash] = [/^[\w-]{43}$/, /^[0-9a-f]{64}$/].map((form) =>
    expect.stringMatching(form),
  )
  expect(all[3]).toEqual({
    revision: 4,
    type: 'key.updated',
    time: patched.json().updateTime,
    actor: { apiKeyId: expect.stringMatching(/^[0-9a-f-]{36}$/), name: 'a writer' },
    subject: { type: 'key', id: kid },
    label: '=HYPERLINK("x")',
    changes: { active: { from: true, to: false }, state: { to: hash } },
    published: { list: digest, jwks: digest, jwksFull: digest },
    requestId: patched.headers['x-request-id'],
    hash,
  })
  expect(JSON.stringify(all)).not.toMatch(/PRIVATE KEY|PUBLIC KEY|null|pubring_/)
})

describe('a page', () => {
  test('has 50 events, or as many as asked for, up to 200, in either order', async () => {
    const { id, keys } = await newProject(server, 'long')
    const key = await registerKey(server, {}, keys)
    for (let i = 0; i < 60; i += 1) await patchKey(server, key, { label: `l${i}` }, keys)
    expect(await read('', `/v1/projects/${id}/events`)).toHaveLength(50)
    const found = await read('limit=200', `/v1/projects/${id}/events`)
    expect(found.map(({ revision }) => revision)).toEqual(
      Array.from({ length: 62 }, (_, i) => i + 1),
    )
    expect(await read('order=desc')).toEqual(all.toReversed())
    for (const query of ['', '&type=key.updated', `&subject=${other}`, '&actor=a%20writer']) {
      const ascending = await pages(`limit=2${query}`)
      expect(ascending.flat()).toEqual(await read(`limit=200${query}`))
      const descending = await pages(`limit=2&order=desc${query}`)
      expect(descending.flat()).toEqual(ascending.flat().toReversed())
      expect([...ascending, ...descending].every((page) => page.length <= 2)).toBe(true)
    }
  })

  test('begins after one revision and ends before another', async () => {
    expect(await revisions('after=10')).toEqual([11])
    expect(await revisions('after=11')).toEqual([])
    expect(await revisions('after=2&before=5')).toEqual([3, 4])
    expect(await revisions('after=2&before=8&order=desc&limit=2')).toEqual([7, 6])
    expect((await pages('after=2&before=8&order=desc&limit=2')).flat()).toHaveLength(5)
    expect(await revisions('before=1')).toEqual([])
  })

  test.each(['asc', 'desc'])(
    'is linked by a position that no other history has (%s)',
    async (order) => {
      const response = await server.send('GET', `${eventsUrl}?limit=2&order=${order}`)
      const [, end, revision, hash] =
        /[?&](after|before)=(\d+)\.([0-9a-f]{8})[&>]/.exec(String(response.headers.link)) ?? []
      expect(all[Number(revision) - 1]?.hash.slice(0, 8)).toBe(hash)
      const query = `limit=2&order=${order}&${end}=${revision}`
      expect(await read(`${query}.${hash}`)).toEqual(await read(query))
      const foreign = await server.send('GET', `${eventsUrl}?${query}.00000000`)
      expect(foreign.json()).toMatchObject({ status: 409, code: 'history_changed' })
    },
  )

  test('after an event of another history is 409 history_changed', async () => {
    expect(await read(`after=11.${all.at(-1)?.hash.slice(0, 8)}`)).toEqual([])
    for (const after of ['11.00000000', '12', '999999999999999']) {
      const response = await server.send('GET', `${eventsUrl}?after=${after}`)
      expect(response.json()).toMatchObject({ status: 409, code: 'history_changed' })
    }
    recordFault({
      fault: 'A reader of the ledger is ahead of it, or has read another history',
      observed: '409 history_changed for each, instead of an empty page',
      acknowledged: 0,
      lost: 0,
    })
  })

  test('is the answer unless the client prefers a stream, and to every HEAD', async () => {
    for (const accept of [
      'application/json',
      '*/*',
      'application/json, text/event-stream',
      'text/event-stream;q=0',
    ]) {
      const response = await server.send('GET', eventsUrl, { headers: { accept } })
      const { vary, 'content-type': type } = response.headers
      expect([vary, type]).toEqual(['Accept', 'application/json'])
    }
    const asked = { headers: { accept: 'text/event-stream' } }
    const head = await server.send('HEAD', eventsUrl, asked)
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })
})

describe('a filter', () => {
  test('by type, subject and actor finds the events, and no others', async () => {
    expect(await revisions('type=key.created')).toEqual([2, 3])
    expect(await revisions('type=key.deleted,%20key.created')).toEqual([2, 3, 9])
    expect(await revisions(`subject=${kid}`)).toEqual([2, 4, 5, 6, 8, 9])
    expect(await revisions(`subject=${kid.toUpperCase()}&type=key.updated`)).toEqual([4, 5, 6, 8])
    expect(await revisions(`subject=${kid},${other}`)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    for (const actor of [String(all[3]?.actor.apiKeyId), 'a writer']) {
      expect(await revisions(`actor=${encodeURIComponent(actor)}`)).toEqual([4])
    }
    for (const actor of [user.subject, user.sessionId, 'Ada', person.id]) {
      expect(await revisions(`actor=${encodeURIComponent(actor)}`)).toEqual([7])
    }
    expect(all[6]?.actor.name).toBe('Ada')
    // Not everyone who sees the name of a person may learn the email address.
    for (const actor of ['A%20WRITER', 'a%20write', 'u%221%22', '%25', 'ada', 'ada@example.com']) {
      expect(await revisions(`actor=${actor}`), actor).toEqual([])
    }
  })

  test('by time includes from and excludes to, in any time zone', async () => {
    const time = all[3]?.time ?? ''
    const later = await read(`from=${time}`)
    const earlier = await read(`to=${time}`)
    expect(later.every((event) => event.time >= time)).toBe(true)
    expect(earlier.every((event) => event.time < time)).toBe(true)
    expect(later.length + earlier.length).toBe(all.length)
    const elsewhere = new Date(Date.parse(time) + 7_200_000).toISOString().replace('Z', '+02:00')
    expect(await read(`from=${encodeURIComponent(elsewhere)}`)).toEqual(later)
    expect(await read(`from=${time}&to=${time}`)).toEqual([])
  })

  test('examines a bounded number of events for each page, and links on from there', async () => {
    const { id } = await newProject(server, 'large')
    const template = keyRecord(id)
    const keys = Array.from({ length: 2_500 }, () => distinctKey(template))
    await store.commit(keyChanges.importKeys, keyImport(keys))
    await server.send('PATCH', '/v1/projects/large', { body: { name: 'larger' } })
    const page = (types: string[], after = 0) => ({
      ...{ after, limit: 10, newestFirst: false, filter: { types } },
    })
    const first = await readStretch(store.reader, id, page(['project.renamed']))
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(first).toEqual({ events: [], examinedTo: { revision: 2_000, hash } })
    const response = await server.send('GET', `/v1/projects/${id}/events?type=project.renamed`)
    const after = `2000.${first.examinedTo?.hash.slice(0, 8)}`
    expect([response.json(), response.headers.link]).toEqual([
      [],
      `<${publicUrl}/v1/projects/${id}/events?type=project.renamed&limit=50&after=${after}>; rel="next"`,
    ])
    const byZero = await server.send('GET', `/v1/projects/${id}/events?actor=0`)
    expect(byZero.headers.link).toContain('?actor=0&')
    const rest = await readStretch(store.reader, id, page(['project.renamed'], 2_000))
    expect([rest.events.map(({ revision }) => revision), rest.examinedTo]).toEqual([
      [2_502],
      undefined,
    ])
    const oldest = { ...page(['project.created']), newestFirst: true }
    const newest = await readStretch(store.reader, id, oldest)
    expect(newest).toMatchObject({ events: [], examinedTo: { revision: 503 } })
  })
})

test.each([
  ['limit=0', 'limit', 'at least 1'],
  ['limit=201', 'limit', '200'],
  ['afterwards=1', 'afterwards', 'Valid are: after, before'],
  ['after=1&after=2', 'after', 'more than once'],
  ...['', '-1', '1.5', '1.0123456', '1.0123456A', '1234567890123456'].map((after) => [
    ...[`after=${after}`, 'after', 'must be a revision, or REVISION.HASH8'],
  ]),
  ['before=0', 'before', 'must be a revision from 1, or REVISION.HASH8'],
  ['order=newest', 'order', 'must be one of asc, desc'],
  ['type=key.create', 'type', 'Send "key.created"'],
  ['type=', 'type', '1 character or more'],
  ['type=key.created,', 'type', 'There is no event type of that name'],
  ['from=yesterday', 'from', 'RFC 3339 time with a time zone'],
  ['from=2026-02-30T00:00:00Z', 'from', 'RFC 3339'],
  ['to=2026-01-01T00:00:00+02:00', 'to', 'Write + as %2B'],
  ['from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'to', 'Swap the two'],
  ['actor=a%00', 'actor', 'control characters'],
  ['subject=%00', 'subject', 'control characters'],
  [`subject=${'x'.repeat(1_001)}`, 'subject', 'no more than 1000'],
  [`subject=${Array.from({ length: 21 }, (_, at) => at)}`, 'subject', 'at most 20 ids'],
])('?%s is rejected', async (query, parameter = '', detail = '') => {
  const problem = (await server.send('GET', `${eventsUrl}?${query}`)).json()
  expect(problem).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ parameter }] })
  expect(problem.detail).toContain(detail)
})

test('the ledger of a deleted project stays readable by id, to unbound admins alone', async () => {
  const { id } = await newProject(server, 'gone')
  const bound = await server.apiKey('admin', server.project.id)
  await server.send('DELETE', '/v1/projects/gone')
  const events = await read('', `/v1/projects/${id.toUpperCase()}/events`)
  expect(events.map(({ type }) => type)).toEqual(['project.created', 'project.deleted'])
  for (const [ref, apiKey] of [
    [id, await server.apiKey('writer')],
    [id, bound],
    ['gone', server.admin],
    ['00000000-0000-0000-0000-000000000000', server.admin],
    [newId(), server.admin],
  ] as const) {
    const sent = { headers: { 'x-api-key': apiKey } }
    const refused = await server.send('GET', `/v1/projects/${ref}/events`, sent)
    expect([ref, refused.json().code]).toEqual([ref, 'project_not_found'])
  }
})

test("the registry's ledger has projects and API keys", async () => {
  const events = await read('limit=200', '/v1/events')
  expect(events.map(({ revision }) => revision)).toEqual(events.map((_, i) => i + 1))
  const types = new Set(events.map(({ type }) => type))
  for (const type of types) expect(type).toMatch(/^(project|api_key|session|person)\./)
  for (const type of ['api_key.created', 'project.created']) expect(types).toContain(type)
  const created = await read('type=project.created&order=desc&limit=200', '/v1/events')
  expect(created).toEqual(events.filter(({ type }) => type === 'project.created').toReversed())
  const { headers } = await server.send('GET', '/v1/events?limit=1')
  const after = `1.${events[0]?.hash.slice(0, 8)}`
  expect(headers.link).toBe(`<${publicUrl}/v1/events?limit=1&after=${after}>; rel="next"`)
})
