import { describe, expect, test } from 'vitest'
import { genesisHash } from '../../../packages/client/src/log/chain.ts'
import type { Event } from '../../../packages/server/src/features/events/contract.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { Origin } from '../../../packages/server/src/kernel/changes.ts'
import { eventHash } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readStretch } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl } from '../../support/app/app.ts'
import { startEventStreamApp } from '../../support/app/event-streams.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createPersonSession } from '../../support/store/sessions.ts'

const limits = { maxKeys: 5_000, maxJwksBytes: 10_000_000 }
const eventsUrl = () => `/v1/projects/${project.id}/events`

const server = await startEventStreamApp(4)
const known = await createPersonSession(server.context.store, {}, { name: 'Ada', subject: 'u"1' })
const personId = known.person.id
const person = {
  issuer: known.person.issuer,
  subject: known.person.subject,
  sessionId: '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
}
const project = await newProject(server, 'history')
const writer = await server.apiKey('writer')
const kid = await registerKey(server, { name: '=HYPERLINK("x")' }, project.keys)
const other = await registerKey(server, { name: 'other, "quoted"' }, project.keys)
const headers = { 'x-api-key': writer }
await server.send('PATCH', `${project.keys}/${kid}`, { body: { active: false }, headers })
await patchKey(server, kid, { label: 'renamed' }, project.keys)
await patchKey(server, kid, { active: true }, project.keys)
await update(other, { active: false }, { name: 'u"1', user: person })
await patchKey(server, kid, { active: false }, project.keys)
await server.send('DELETE', `${project.keys}/${kid}`)
const all = await read()

async function read(query = '', url = eventsUrl()): Promise<Event[]> {
  const response = await server.send('GET', `${url}?${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

const revisions = async (query: string) => (await read(query)).map(({ revision }) => revision)

function update(id: string, patch: { active: boolean }, actor: Origin['actor'], time?: string) {
  const origin = { actor, requestId: newId(), time: time ?? new Date().toISOString() }
  const change = { projectId: project.id, kid: id, patch, limits, origin }
  return server.context.store.commit(keyChanges.updateKey, change)
}

/** Imports copies of one key, which differ as far as the database tells. */
async function importCopies(projectId: string, count: number, label: string): Promise<void> {
  const template = keyRecord(projectId)
  const keys = Array.from({ length: count }, (_, index) => {
    const id = newId()
    const hashes = { thumbprint: id, spkiSha256: id, materialSha256: id }
    return { index, key: { ...template, id, label, ...hashes }, kidProvided: false }
  })
  const origin = { actor: { name: 'import' }, requestId: newId(), time: new Date().toISOString() }
  const change = { origin, projectId, keys, limits, compared: [], dryRun: false }
  await server.context.store.commit(keyChanges.importKeys, change)
}

/** Follows the links to the end; returns the pages. */
async function pages(query: string): Promise<Event[][]> {
  const found: Event[][] = []
  let next: string | undefined = `${eventsUrl()}?${query}`
  while (next !== undefined) {
    const response = await server.send('GET', next)
    expect(response.statusCode, response.body).toBe(200)
    found.push(response.json())
    const [, link] = /^<(.+)>; rel="next"$/.exec(String(response.headers.link ?? '')) ?? []
    next = link?.slice(publicUrl.length)
  }
  return found
}

describe('a filter of the ledger', () => {
  test('by type, subject and actor finds the events, and no others', async () => {
    expect(await revisions('type=key.created')).toEqual([2, 3])
    expect(await revisions('type=key.deleted,%20key.created')).toEqual([2, 3, 9])
    expect(await revisions(`subject=${kid}`)).toEqual([2, 4, 5, 6, 8, 9])
    expect(await revisions(`subject=${kid.toUpperCase()}&type=key.updated`)).toEqual([4, 5, 6, 8])
    const both = [...(await revisions(`subject=${kid}`)), ...(await revisions(`subject=${other}`))]
    expect(await revisions(`subject=${kid},${other}`)).toEqual(both.sort((a, b) => a - b))
    const { apiKeyId = '' } = all[3]?.actor ?? {}
    expect(await revisions(`actor=${apiKeyId}`)).toEqual([4])
    expect(await revisions('actor=a%20writer')).toEqual([4])
    for (const actor of [person.subject, person.sessionId]) {
      expect(await revisions(`actor=${encodeURIComponent(actor)}`)).toEqual([7])
    }
    for (const actor of ['A%20WRITER', 'a%20write', 'a%25', 'u%221%22', '%25', 'nobody']) {
      expect(await revisions(`actor=${actor}`), actor).toEqual([])
    }
  })

  test('finds the events of a person by name and email address too', async () => {
    for (const actor of ['Ada', 'ada@example.com', personId]) {
      const [event, ...others] = await read(`actor=${actor}`)
      expect([event?.revision, event?.actor.name, others]).toEqual([7, 'Ada', []])
    }
    expect(await read('actor=ada')).toEqual([])
  })

  test('finds them by email address for admins of all projects alone, who may see it', async () => {
    for (const role of ['reader', 'admin'] as const) {
      const headers = { 'x-api-key': await server.apiKey(role, project.id) }
      const found = async (actor: string, accept: string) => {
        const sent = { headers: { ...headers, accept } }
        return (await server.send('GET', `${eventsUrl()}?actor=${actor}`, sent)).body
      }
      expect(await found('Ada', 'application/json')).toContain('"revision":7')
      expect(await found('ada@example.com', 'application/json')).toBe('[]')
      expect(await found('ada@example.com', 'application/x-ndjson')).toBe('')
    }
  })

  test('by time includes since and excludes until, in any time zone', async () => {
    const time = all[3]?.time ?? ''
    const since = await read(`since=${time}`)
    const until = await read(`until=${time}`)
    expect(since.every((event) => event.time >= time)).toBe(true)
    expect(until.every((event) => event.time < time)).toBe(true)
    expect(since.length + until.length).toBe(all.length)
    const elsewhere = new Date(Date.parse(time) + 7_200_000).toISOString().replace('Z', '+02:00')
    expect(await read(`since=${encodeURIComponent(elsewhere)}`)).toEqual(since)
    expect(await read(`since=${time}&until=${time}`)).toEqual([])
  })

  test('is the same newest first, in pages, and between revisions', async () => {
    expect(await read('order=desc')).toEqual(all.toReversed())
    for (const query of ['', '&type=key.updated', `&subject=${other}`, '&actor=a%20writer']) {
      const ascending = await pages(`limit=2${query}`)
      expect(ascending.flat()).toEqual(await read(`limit=200${query}`))
      const descending = await pages(`limit=2&order=desc${query}`)
      expect(descending.flat()).toEqual(ascending.flat().toReversed())
      expect([...ascending, ...descending].every((found) => found.length <= 2)).toBe(true)
    }
    expect(await revisions('after=2&before=5')).toEqual([3, 4])
    expect(await revisions('after=2&before=8&order=desc&limit=2')).toEqual([7, 6])
    expect((await pages('after=2&before=8&order=desc&limit=2')).flat()).toHaveLength(5)
    expect(await revisions('before=1')).toEqual([])
  })

  test('examines a bounded number of events for each page, and links on from there', async () => {
    const large = await newProject(server, 'large')
    await importCopies(large.id, 2_500, 'a key')
    await server.send('PATCH', '/v1/projects/large', { body: { name: 'larger' } })
    const { reader } = server.context.store
    const types = ['project.renamed'] as const
    const first = await readStretch(reader, large.id, page({ types }))
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(first).toEqual({ events: [], examinedTo: { revision: 2_000, hash } })
    const url = `/v1/projects/${large.id}/events?type=project.renamed`
    const response = await server.send('GET', url)
    expect([response.json(), response.headers.link]).toEqual([
      [],
      `<${publicUrl}/v1/projects/${large.id}/events?limit=50&after=2000.${first.examinedTo?.hash.slice(0, 8)}&type=project.renamed>; rel="next"`,
    ])
    const byZero = await server.send('GET', `/v1/projects/${large.id}/events?actor=0`)
    expect(byZero.headers.link).toContain('&actor=0>')
    const rest = await readStretch(reader, large.id, page({ types }, 2_000))
    expect(rest.events.map(({ revision }) => revision)).toEqual([2_502])
    expect(rest.examinedTo).toBeUndefined()
    const oldest = { ...page({ types: ['project.created'] }), newestFirst: true }
    expect(await readStretch(reader, large.id, oldest)).toMatchObject({
      events: [],
      examinedTo: { revision: 503 },
    })
  })

  const page = (filter: object, after = 0) => ({ after, limit: 10, newestFirst: false, filter })

  test.each([
    ['type=key.create', 'type', 'Send "key.created"'],
    ['type=', 'type', '1 character or more'],
    ['type=key.created,', 'type', 'There is no event type of that name'],
    [`type=${'x'.repeat(300)}`, 'type', 'no more than 255'],
    ['since=yesterday', 'since', 'RFC 3339 time with a time zone'],
    ['since=2026-02-30T00:00:00Z', 'since', 'RFC 3339'],
    ['until=2026-01-01T00:00:00+02:00', 'until', 'Write + as %2B'],
    ['since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'until', 'Swap the two'],
    ['actor=a%00', 'actor', 'control characters'],
    ['subject=%00', 'subject', 'control characters'],
    ['actor=%0A', 'actor', 'control characters'],
    ['order=newest', 'order', 'must be one of asc, desc'],
    ['before=0', 'before', 'must be a revision from 1, or REVISION.HASH8'],
    ['before=x', 'before', 'must be a revision from 1, or REVISION.HASH8'],
    ['after=x', 'after', 'must be a revision, or REVISION.HASH8'],
    ['actor=a&actor=b', 'actor', 'more than once'],
    [`subject=${'x'.repeat(1_001)}`, 'subject', 'no more than 1000'],
    [`subject=${Array.from({ length: 21 }, (_, at) => at)}`, 'subject', 'at most 20 ids'],
  ])('?%s is rejected', async (query, parameter, detail) => {
    for (const url of [eventsUrl(), '/v1/events']) {
      const response = await server.send('GET', `${url}?${query}`)
      expect(response.json()).toMatchObject({
        status: 400,
        code: 'invalid_request',
        errors: [{ parameter }],
      })
      expect(response.json().detail).toContain(detail)
    }
  })

  test('is rejected for a stream, which has all events', async () => {
    for (const query of ['type=key.created', 'order=desc', 'before=9', 'actor=x']) {
      const stream = await server.open({}, `${eventsUrl()}?${query}`)
      expect([query, stream.status]).toEqual([query, 400])
    }
  })

  test('applies to the ledger of the registry as well, for admins of all projects', async () => {
    const created = await read('type=project.created&order=desc&limit=200', '/v1/events')
    expect(created.map(({ subject }) => subject.id)).toContain(project.id)
    expect(created.every(({ type }) => type === 'project.created')).toBe(true)
    const headers = { 'x-api-key': await server.apiKey('admin', project.id) }
    const refused = await server.send('GET', '/v1/events?type=project.created', { headers })
    expect(refused.json().code).toBe('insufficient_role')
  })
})

test('every event has the label that its subject had then', () => {
  expect(all.map(({ label }) => label)).toEqual([
    'history',
    '=HYPERLINK("x")',
    'other, "quoted"',
    '=HYPERLINK("x")',
    'renamed',
    'renamed',
    'other, "quoted"',
    'renamed',
    'renamed',
  ])
})

describe('an export', () => {
  const exported = (accept: string, query = '', headers = {}) =>
    server.send('GET', `${eventsUrl()}?${query}`, { headers: { accept, ...headers } })

  test('as JSON lines has every event, with what its hash covers', async () => {
    const response = await exported('application/x-ndjson', 'limit=1')
    expect(response.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': `attachment; filename="events-${project.id}.jsonl"`,
      'cache-control': 'no-store',
      vary: 'Accept',
    })
    const lines = response.body.trimEnd().split('\n')
    const events = lines.map((line) => JSON.parse(line))
    expect(events).toEqual(all.map((event) => ({ ledgerId: project.id, ...event })))
    let previous = genesisHash
    for (const { hash, ...content } of events) {
      expect(eventHash(previous, content)).toBe(hash)
      previous = hash
    }
  })

  test('is only what the client prefers, and HEAD never is one', async () => {
    for (const accept of [
      'application/json, application/x-ndjson',
      '*/*',
      'application/x-ndjson;q=0',
    ]) {
      expect((await exported(accept)).headers['content-type']).toBe('application/json')
    }
    const headers = { accept: 'application/x-ndjson' }
    const head = await server.send('HEAD', eventsUrl(), { headers })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })

  test('of another history is 409, and of bad filters 400, before anything is sent', async () => {
    expect((await exported('application/x-ndjson', 'after=7.00000000')).json().code).toBe(
      'history_changed',
    )
    expect((await exported('application/x-ndjson', 'type=x')).json().code).toBe('invalid_request')
    expect((await exported('application/x-ndjson')).statusCode).toBe(200)
  })

  /** Longer than all that the connection buffers. */
  async function startLongExport(headers: Record<string, string>) {
    const long = await newProject(server, `long-${newId().slice(-8)}`)
    await importCopies(long.id, 3_000, 'x'.repeat(4_000))
    const controller = new AbortController()
    const response = await fetch(`${server.url}/v1/projects/${long.id}/events`, {
      headers: { accept: 'application/x-ndjson', ...headers },
      signal: controller.signal,
    })
    return { long, response, controller }
  }

  test('counts as a stream until its client has all of it, or leaves', async () => {
    const { response, controller } = await startLongExport({ 'x-api-key': server.admin })
    expect(response.status).toBe(200)
    const others = await Promise.all([1, 2, 3].map(() => server.open()))
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await exported('application/x-ndjson')).json().code).toBe('overloaded')
    controller.abort()
    await expect.poll(async () => (await exported('application/x-ndjson')).statusCode).toBe(200)
    await server.closeStreams()
  })

  test('is cut off when its API key is revoked', async () => {
    const { secret, id } = await reader()
    const { response } = await startLongExport({ 'x-api-key': secret })
    expect(response.status).toBe(200)
    await server.send('DELETE', `/v1/api-keys/${id}`)
    await expect(response.text()).rejects.toThrow()
  })

  async function reader(): Promise<{ secret: string; id: string }> {
    const body = { name: 'exporter', role: 'reader' }
    const { apiKey: secret, id } = (await server.send('POST', '/v1/api-keys', { body })).json()
    return { secret, id }
  }
})
