import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import {
  endOf,
  maxEventStreams,
  otherOrigin,
  startEventStreamApp,
  staysOpen,
} from '../../support/app/event-streams.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import type { EventStream } from '../../support/network/event-stream.ts'
import { rawConnection, requestHead } from '../../support/network/raw-connection.ts'
import { expectWithin } from '../../support/timing.ts'
import { waitUntil } from '../../support/waiting.ts'

const server = await startEventStreamApp()
const { store } = server.context
afterEach(() => server.closeStreams())
afterAll(() => server.close())

const revision = async () => (await server.send('GET', '/v1/projects/payments')).json().revision
const eventsOf = (project: string, query = '') => `/v1/projects/${project}/events${query}`
const typesOf = ({ events }: EventStream) => events.map(({ event }) => event)
const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i + 1)

describe('a stream', () => {
  test('sends the existing events, then each new one, as the pages show them', async () => {
    const reader = await server.open()
    expect(reader.status).toBe(200)
    expect(Object.fromEntries(reader.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
    })
    const kid = await registerKey(server)
    await reader.waitForEvents(2)
    const began = performance.now()
    await patchKey(server, kid, { active: false })
    const events = await reader.waitForEvents(3)
    expectWithin(1_000, performance.now() - began)
    const pages = (await server.send('GET', eventsOf('payments'))).json()
    expect(events.map(({ data }) => data)).toEqual(pages)
    for (const { id, event, data } of events) {
      expect([id, event]).toEqual([`${data.revision}.${data.hash.slice(0, 8)}`, data.type])
    }
  })

  test('sends changes by another process within a second', async () => {
    const reader = await server.open({ 'last-event-id': String(await revision()) })
    await delay(100)
    const began = performance.now()
    const change = { origin: otherOrigin(), projectId: server.project.id, name: 'payments-2' }
    await store.commit(projectChanges.renameProject, change)
    const [event] = await reader.waitForEvents(1)
    expectWithin(1_000, performance.now() - began)
    expect(event?.event).toBe('project.renamed')
    await server.send('PATCH', '/v1/projects/payments-2', { body: { name: 'payments' } })
  })

  test('resumes after Last-Event-ID, which takes precedence over ?after', async () => {
    const at = await revision()
    const first = async (headers: Record<string, string>, after: number) => {
      const reader = await server.open(headers, eventsOf('payments', `?after=${after}`))
      return (await reader.waitForEvents(1))[0]?.data.revision
    }
    expect(await first({}, at - 1)).toBe(at)
    expect(await first({ 'last-event-id': String(at - 2) }, 0)).toBe(at - 1)
    expect(await first({ 'last-event-id': '' }, at - 1)).toBe(at)
  })

  test.each<[string, Record<string, string>]>([
    ['', { 'last-event-id': 'seven' }],
    ['?type=key.created', {}],
    ['?order=desc', {}],
    ['?before=9', {}],
    ['?actor=x', {}],
  ])('is refused with %j and %j, since it has all events', async (query, headers) => {
    expect((await server.open(headers, eventsOf('payments', query))).status).toBe(400)
  })

  test('gives two readers that reconnect the same events in the same order, without a gap', async () => {
    const kid = await registerKey(server)
    const from = await revision()
    const writing = (async () => {
      for (let i = 0; i < 150; i += 1) await patchKey(server, kid, { label: `label ${i}` })
    })()
    const steady = await server.open({ 'last-event-id': String(from) })
    const seen: string[] = []
    while (seen.length < 150) {
      const restless = await server.open({ 'last-event-id': seen.at(-1) ?? String(from) })
      await restless.waitForEvents(1)
      await delay(Math.random() * 40)
      restless.close()
      await restless.endedCleanly
      seen.push(...restless.events.map(({ id }) => id))
    }
    await writing
    const events = await steady.waitForEvents(150)
    expect(events.map(({ data }) => data.revision)).toEqual(upTo(150, from))
    expect(seen).toEqual(events.map(({ id }) => id))
  })

  test('sends a heartbeat every 15 seconds', async () => {
    const reader = await server.open({ 'last-event-id': String(await revision()) })
    await expect.poll(reader.text).toBe('retry: 2000\n\n')
    server.clock.advance(14_000)
    await delay(400)
    expect(reader.text()).toBe('retry: 2000\n\n')
    for (let beat = 1; beat <= 2; beat += 1) {
      server.clock.advance(15_000)
      await expect.poll(reader.text).toBe(`retry: 2000\n\n${':\n\n'.repeat(beat)}`)
    }
  })

  test('that resumes after an event of another history is reset, and sends the ledger', async () => {
    const pages = (await server.send('GET', eventsOf('payments', '?limit=2'))).json()
    for (const lastEventId of ['1.00000000', '900']) {
      const reader = await server.open({ 'last-event-id': lastEventId })
      const [reset, ...events] = await reader.waitForEvents(3)
      expect(reset).toEqual({ id: '', event: 'reset', data: { code: 'history_changed' } })
      expect(events.slice(0, 2).map(({ data }) => data)).toEqual(pages)
    }
  })

  test('is reset when the database goes back to an earlier state, before any later change', async () => {
    const { id } = await newProject(server, 'back')
    const rename = (name: string) => server.send('PATCH', `/v1/projects/${id}`, { body: { name } })
    await rename('back-2')
    const reader = await server.open({}, eventsOf(id))
    const [first] = await reader.waitForEvents(2)
    await server.database.execute('delete from event where project_id = ? and revision = 2', id)
    const head = 'update ledger set revision = 1, hash = ? where project_id = ?'
    await server.database.execute(head, String(first?.data.hash), id)
    const row = "update project set name = 'back', update_time = create_time where id = ?"
    await server.database.execute(row, id)
    await reader.waitForEvents(4)
    expect(typesOf(reader).slice(2)).toEqual(['reset', 'project.created'])
    await rename('back-3')
    const events = await reader.waitForEvents(5)
    expect(events[4]).toMatchObject({ event: 'project.renamed', data: { revision: 2 } })
  })

  test('ends after the event of its project’s deletion, and at once if it begins there', async () => {
    const { id } = await newProject(server, 'doomed')
    const reader = await server.open({}, eventsOf('doomed'))
    await reader.waitForEvents(1)
    await server.send('DELETE', '/v1/projects/doomed')
    for (const [after, shown] of [
      [undefined, ['project.created', 'project.deleted']],
      [1, ['project.deleted']],
      [2, []],
      [7, ['reset', 'project.created', 'project.deleted']],
    ] as const) {
      const headers = { 'last-event-id': String(after) }
      const ended = after === undefined ? reader : await server.open(headers, eventsOf(id))
      expect(await endOf(ended)).toBe(true)
      expect(typesOf(ended)).toEqual(shown)
    }
  })

  test('of the system ledger continues after that, for an unbound admin', async () => {
    const from = (await server.send('GET', '/v1/events?limit=200')).json().length
    const reader = await server.open({ 'last-event-id': String(from) }, '/v1/events')
    await newProject(server, 'brief')
    await server.send('DELETE', '/v1/projects/brief')
    await newProject(server, 'longer')
    await reader.waitForEvents(3)
    expect(typesOf(reader)).toEqual(['project.created', 'project.deleted', 'project.created'])
  })
})

describe('the streams of an API key that loses access are closed within a second:', () => {
  async function caller(role: 'reader' | 'admin') {
    const headers = { 'x-api-key': await server.apiKey(role) }
    const { id } = (await server.send('GET', '/v1/api-keys/self', { headers })).json()
    const opened = await server.open(headers)
    await opened.waitForEvents(1)
    return { headers, id, opened }
  }
  const update = (id: string, patch: { active?: boolean; expireTime?: string; role?: 'reader' }) =>
    store.commit(apiKeyChanges.updateApiKey, { origin: otherOrigin(), id, patch })

  test('deactivated or deleted, and those of others stay open', async () => {
    const [off, deleted, other] = [
      await caller('reader'),
      await caller('reader'),
      await server.open(),
    ]
    await update(off.id, { active: false })
    expect(await endOf(off.opened)).toBe(false)
    await store.commit(apiKeyChanges.deleteApiKey, { origin: otherOrigin(), id: deleted.id })
    expect(await endOf(deleted.opened)).toBe(false)
    expect(await staysOpen(other)).toBe(true)
  })

  test('expired at a time that was set during the stream', async () => {
    const { id, opened } = await caller('reader')
    await update(id, { expireTime: new Date(server.clock.now() + 60_000).toISOString() })
    expect(await staysOpen(opened)).toBe(true)
    server.clock.advance(60_000)
    expect(await endOf(opened)).toBe(false)
  })

  test('demoted from admin to reader, for the system ledger', async () => {
    const { headers, id, opened } = await caller('admin')
    const system = await server.open(headers, '/v1/events')
    await update(id, { role: 'reader' })
    expect(await endOf(system)).toBe(false)
    expect(await staysOpen(opened)).toBe(true)
  })
})

test('too many streams are 503 with Retry-After until one ends', async () => {
  for (let i = 0; i < maxEventStreams; i += 1) await server.open()
  const beyond = await server.open()
  expect([beyond.status, beyond.headers.get('retry-after')]).toEqual([503, '10'])
  await beyond.endedCleanly
  expect(JSON.parse(beyond.text()).code).toBe('overloaded')
  server.streams[0]?.close()
  await expect.poll(async () => (await server.open()).status).toBe(200)
})

test('a reader that accepts nothing is disconnected after 10 seconds, with little buffered for it', async () => {
  const { id: projectId, keys } = await newProject(server, 'verbose')
  const kid = await registerKey(server, {}, keys)
  // About 14 MB, far more than fits the buffers of two sockets.
  const count = 1_500
  const actor = { name: 'a very long name '.repeat(500) }
  const rename = (i: number) =>
    store.commit(keyChanges.updateKey, {
      origin: { ...otherOrigin(), actor },
      projectId,
      kid,
      patch: { label: (i % 2 === 0 ? '長' : '短').repeat(255) },
      limits: { maxKeys: 50, maxJwksBytes: 51_200 },
    })
  for (let i = 0; i < count; i += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, j) => rename(i + j)))
  }
  const quick = await server.open({}, eventsOf('verbose'))
  const accepting = once(server.app.server, 'connection')
  const slow = rawConnection(server.url)
  slow.socket.pause()
  const request = [`GET ${eventsOf('verbose')} HTTP/1.1`, 'Host: x']
  const headers = ['Accept: text/event-stream', `X-Api-Key: ${server.admin}`]
  slow.socket.write(requestHead(...request, ...headers))
  const [accepted]: Socket[] = await accepting
  await quick.waitForEvents(count + 2)
  // Its ten seconds begin when the server notices that it reads nothing.
  await waitUntil(() => {
    server.clock.advance(10_000)
    return accepted?.destroyed
  })
  slow.socket.resume()
  const received = await slow.closed
  expect(received).toMatch(/^HTTP\/1\.1 200 /)
  expect(received.split('\nevent: ').length).toBeLessThan(count)
  expect(quick.events.map(({ data }) => data.revision)).toEqual(upTo(count + 2))
})

test('shutdown ends streams as complete, without delay', async () => {
  const closing = await startEventStreamApp()
  const opened = await Promise.all(upTo(12).map(() => closing.open({}, '/v1/events')))
  await Promise.all(opened.map((reader) => reader.waitForEvents(1)))
  const began = performance.now()
  await closing.close()
  for (const reader of opened) expect(await reader.endedCleanly).toBe(true)
  expectWithin(2_000, performance.now() - began)
})
