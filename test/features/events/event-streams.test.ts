import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import {
  endOf,
  maxEventStreams,
  otherOrigin,
  startEventStreamApp,
} from '../../support/app/event-streams.ts'
import { patchKey, registerKey } from '../../support/app/keys.ts'
import { rawConnection, requestHead } from '../../support/network/raw-connection.ts'
import { expectWithin } from '../../support/timing.ts'
import { waitUntil } from '../../support/waiting.ts'

const server = await startEventStreamApp()
afterEach(() => server.closeStreams())
afterAll(() => server.close())

const revision = async () => (await server.send('GET', '/v1/projects/payments')).json().revision

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
    const pages = (await server.send('GET', '/v1/projects/payments/events')).json()
    expect(events.map(({ data }) => data)).toEqual(pages)
    for (const { id, event, data } of events) {
      expect([id, event]).toEqual([`${data.revision}.${data.hash.slice(0, 8)}`, data.type])
    }
  })

  test('sends changes by another process within a second', async () => {
    const reader = await server.open({ 'last-event-id': String(await revision()) })
    await delay(100)
    const began = performance.now()
    await server.context.store.commit(projectChanges.renameProject, {
      origin: otherOrigin(),
      projectId: server.project.id,
      name: 'payments-2',
    })
    const [event] = await reader.waitForEvents(1)
    expectWithin(1_000, performance.now() - began)
    expect(event?.event).toBe('project.renamed')
    await server.send('PATCH', '/v1/projects/payments-2', { body: { name: 'payments' } })
  })

  test('resumes after Last-Event-ID, which takes precedence over ?after', async () => {
    const at = await revision()
    const url = (after: number) => `/v1/projects/payments/events?after=${after}`
    const first = async (headers: Record<string, string>, after: number) =>
      (await (await server.open(headers, url(after))).waitForEvents(1))[0]?.data.revision
    expect(await first({}, at - 1)).toBe(at)
    expect(await first({ 'last-event-id': String(at - 2) }, 0)).toBe(at - 1)
    expect(await first({ 'last-event-id': '' }, at - 1)).toBe(at)
    const answer = await fetch(`${server.url}${url(0)}`, {
      headers: {
        'x-api-key': server.admin,
        accept: 'text/event-stream',
        'last-event-id': 'seven',
      },
    })
    expect(answer.status).toBe(400)
    await answer.text()
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
    expect(events.map(({ data }) => data.revision)).toEqual(
      Array.from({ length: 150 }, (_, i) => from + 1 + i),
    )
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
    const pages = (await server.send('GET', '/v1/projects/payments/events?limit=2')).json()
    for (const lastEventId of ['1.00000000', '900']) {
      const reader = await server.open({ 'last-event-id': lastEventId })
      const [reset, ...events] = await reader.waitForEvents(3)
      expect(reset).toEqual({ id: '', event: 'reset', data: { code: 'history_changed' } })
      expect(events.slice(0, 2).map(({ data }) => data)).toEqual(pages)
    }
  })

  test('is reset when the database goes back to an earlier state, before any later change', async () => {
    const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'back' } })).json()
    const rename = (name: string) => server.send('PATCH', `/v1/projects/${id}`, { body: { name } })
    await rename('back-2')
    const reader = await server.open({}, `/v1/projects/${id}/events`)
    const [first] = await reader.waitForEvents(2)
    await server.database.execute('delete from event where project_id = ? and revision = 2', id)
    const head = 'update ledger set revision = 1, hash = ? where project_id = ?'
    await server.database.execute(head, String(first?.data.hash), id)
    const row = "update project set name = 'back', update_time = create_time where id = ?"
    await server.database.execute(row, id)
    expect((await reader.waitForEvents(4)).slice(2).map(({ event }) => event)).toEqual([
      'reset',
      'project.created',
    ])
    await rename('back-3')
    const events = await reader.waitForEvents(5)
    expect(events[4]).toMatchObject({ event: 'project.renamed', data: { revision: 2 } })
  })

  test('ends after the event of its project’s deletion', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'doomed' } })
    const reader = await server.open({}, '/v1/projects/doomed/events')
    await reader.waitForEvents(1)
    await server.send('DELETE', '/v1/projects/doomed')
    expect(await endOf(reader)).toBe(true)
    expect(reader.events.map(({ event }) => event)).toEqual(['project.created', 'project.deleted'])
  })

  test('that begins at or after that event ends at once', async () => {
    const { id } = (await server.send('POST', '/v1/projects', { body: { name: 'gone' } })).json()
    await server.send('DELETE', '/v1/projects/gone')
    for (const [after, shown] of [
      [1, ['project.deleted']],
      [2, []],
      [7, ['reset', 'project.created', 'project.deleted']],
    ] as const) {
      const reader = await server.open(
        { 'last-event-id': String(after) },
        `/v1/projects/${id}/events`,
      )
      expect(await endOf(reader)).toBe(true)
      expect(reader.events.map(({ event }) => event)).toEqual(shown)
    }
  })

  test('of the system ledger continues after that, for an unbound admin', async () => {
    const from = (await server.send('GET', '/v1/events?limit=200')).json().length
    const reader = await server.open({ 'last-event-id': String(from) }, '/v1/events')
    await server.send('POST', '/v1/projects', { body: { name: 'brief' } })
    await server.send('DELETE', '/v1/projects/brief')
    await server.send('POST', '/v1/projects', { body: { name: 'longer' } })
    const events = await reader.waitForEvents(3)
    expect(events.map(({ event }) => event)).toEqual([
      'project.created',
      'project.deleted',
      'project.created',
    ])
  })
})

describe('limits of streams', () => {
  test('too many streams are 503 with Retry-After until one ends', async () => {
    for (let i = 0; i < maxEventStreams; i += 1) await server.open()
    const beyond = await server.open()
    expect(beyond.status).toBe(503)
    expect(beyond.headers.get('retry-after')).toBe('10')
    expect(beyond.headers.get('content-type')).toBe('application/problem+json')
    await beyond.endedCleanly
    expect(JSON.parse(beyond.text()).code).toBe('overloaded')
    server.streams[0]?.close()
    await expect.poll(async () => (await server.open()).status).toBe(200)
  })

  test('a reader that accepts nothing is disconnected after 10 seconds, with little buffered for it', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'verbose' } })
    const kid = await registerKey(server, {}, '/v1/projects/verbose/jwt-keys')
    const { id: projectId } = (await server.send('GET', '/v1/projects/verbose')).json()
    // About 14 MB, far more than fits the buffers of two sockets.
    const count = 1_500
    const actor = { name: 'a very long name '.repeat(500) }
    const labels = ['長'.repeat(255), '短'.repeat(255)] as const
    const rename = (i: number) =>
      server.context.store.commit(keyChanges.updateKey, {
        origin: { ...otherOrigin(), actor },
        projectId,
        kid,
        patch: { label: labels[i % 2 === 0 ? 0 : 1] },
        limits: { maxKeys: 50, maxJwksBytes: 51_200 },
      })
    for (let i = 0; i < count; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => rename(i + j)))
    }
    const quick = await server.open({}, '/v1/projects/verbose/events')
    const accepting = once(server.app.server, 'connection')
    const slow = rawConnection(server.url)
    slow.socket.pause()
    const request = ['GET /v1/projects/verbose/events HTTP/1.1', 'Host: x']
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
    expect(quick.events.map(({ data }) => data.revision)).toEqual(
      Array.from({ length: count + 2 }, (_, i) => i + 1),
    )
  })
})

test('shutdown ends streams as complete, without delay', async () => {
  const closing = await startEventStreamApp(20)
  const opened = await Promise.all(Array.from({ length: 20 }, () => closing.open({}, '/v1/events')))
  await Promise.all(opened.map((reader) => reader.waitForEvents(1)))
  const began = performance.now()
  await closing.close()
  for (const reader of opened) expect(await reader.endedCleanly).toBe(true)
  expectWithin(2_000, performance.now() - began)
})
