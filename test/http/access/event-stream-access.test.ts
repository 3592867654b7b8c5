import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { type EventStream, openEventStream } from '../../support/network/event-stream.ts'

const clock = testClock()
let server: TestApp
let base: string
const maxEventStreams = 12
beforeAll(async () => {
  server = await startApp({ clock, config: { maxEventStreams, maxKeysPerProject: 1_000 } })
  base = await server.listen()
})
afterAll(() => server.close())

const readers: EventStream[] = []
afterEach(async () => {
  for (const reader of readers.splice(0)) {
    reader.close()
    await reader.endedCleanly
  }
  await delay(50)
})

async function open(
  headers: Record<string, string> = {},
  url = '/v1/projects/payments/events',
): Promise<EventStream> {
  const reader = await openEventStream(base + url, { 'x-api-key': server.admin, ...headers })
  readers.push(reader)
  return reader
}

/** Origin of changes made directly in the store, as another process makes them. */
const elsewhere = () => ({
  actor: { name: 'other' },
  requestId: 'x',
  time: new Date().toISOString(),
})
const within = async (ms: number, ended: Promise<boolean>) =>
  Promise.race([ended, delay(ms).then(() => 'open')])

describe('the streams of an API key that loses access are closed within a second', () => {
  async function reader(): Promise<{ reader: EventStream; id: string }> {
    const secret = await server.apiKey('reader')
    const { id } = (
      await server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })
    ).json()
    const opened = await open({ 'x-api-key': secret })
    await opened.waitForEvents(1)
    return { reader: opened, id }
  }
  const update = (id: string, patch: { active?: boolean; expireTime?: string }) =>
    server.context.store.commit({
      type: 'api_key.update',
      origin: elsewhere(),
      id,
      patch,
    })

  test('deactivated', async () => {
    const { reader: revoked, id } = await reader()
    const other = await open()
    await update(id, { active: false })
    expect(await within(1_000, revoked.endedCleanly)).toBe(false)
    expect(await within(400, other.endedCleanly)).toBe('open')
  })

  test('deleted', async () => {
    const { reader: revoked, id } = await reader()
    await server.context.store.commit({ type: 'api_key.delete', origin: elsewhere(), id })
    expect(await within(1_000, revoked.endedCleanly)).toBe(false)
  })

  test('expired at a time that was set during the stream', async () => {
    const { reader: revoked, id } = await reader()
    await update(id, { expireTime: new Date(clock.now() + 60_000).toISOString() })
    expect(await within(600, revoked.endedCleanly)).toBe('open')
    clock.advance(60_000)
    expect(await within(1_000, revoked.endedCleanly)).toBe(false)
  })

  test('demoted from admin to reader, for the system ledger', async () => {
    const secret = await server.apiKey('admin')
    const headers = { 'x-api-key': secret }
    const { id } = (await server.send('GET', '/v1/api-keys/self', { headers })).json()
    const [system, project] = [await open(headers, '/v1/events'), await open(headers)]
    await server.context.store.commit({
      type: 'api_key.update',
      origin: elsewhere(),
      id,
      patch: { role: 'reader' },
    })
    expect(await within(1_000, system.endedCleanly)).toBe(false)
    expect(await within(400, project.endedCleanly)).toBe('open')
  })
})
