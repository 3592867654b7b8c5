import { beforeEach, describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { fetchJwks, jwksUrl, registerKey } from '../../support/app/keys.ts'
import { waitUntil } from '../../support/waiting.ts'

const discoveryUrl = (id: string) => `/v1/projects/${id}/.well-known/openid-configuration`
const freshOnly = { 'cache-control': 'no-cache, stale-if-error=0' }

const clock = testClock()
const server = await startApp({ clock })
await registerKey(server)

beforeEach(async () => {
  // After an outage, the store finds PostgreSQL again within two seconds.
  await waitUntil(async () => (await health('ready')).state === 'fresh')
  for (const url of [jwksUrl, discoveryUrl(server.project.id)]) await fetchJwks(server, {}, url)
})

const health = async (kind: string) => {
  const { statusCode, headers, body } = await server.send('GET', `/health/${kind}`)
  return { status: statusCode, state: headers['pubring-state'], body: JSON.parse(body) }
}

test('a fresh answer has no Age, and is ready and fresh', async () => {
  for (const url of [jwksUrl, discoveryUrl(server.project.id)]) {
    const { statusCode, headers } = await fetchJwks(server, freshOnly, url)
    expect(statusCode).toBe(200)
    expect(headers['cache-control']).toBe('public, max-age=60')
    expect(headers).not.toHaveProperty('age')
  }
  const ready = { status: 200, state: 'fresh', body: { status: 'ok', state: 'fresh' } }
  expect(await health('ready')).toEqual(ready)
  expect(await health('write')).toEqual({ status: 200, body: { status: 'ok' } })
})

describe('while the database is away', () => {
  let fault: { restore(): Promise<void> }
  beforeEach(async () => {
    fault = await server.database.destroy()
    clock.advance(30_000)
    return async () => {
      await fault.restore()
      clock.advance(1_000)
    }
  })

  test('a request that accepts none gets 503', async () => {
    for (const url of [jwksUrl, discoveryUrl(server.project.id)]) {
      const { statusCode, body } = await fetchJwks(server, freshOnly, url)
      expect([statusCode, JSON.parse(body).code]).toEqual([503, 'storage_unavailable'])
      const older = { 'cache-control': 'stale-if-error=10' }
      expect((await fetchJwks(server, older, url)).statusCode).toBe(503)
      const young = { 'cache-control': 'stale-if-error=300' }
      expect((await fetchJwks(server, young, url)).statusCode).toBe(200)
    }
  })

  test('a request is held briefly, since this process may not see a change', async () => {
    const { etag } = (await fetchJwks(server)).headers
    const waiting = fetchJwks(server, { 'if-none-match': String(etag), prefer: 'wait=60' })
    clock.advance(2_000)
    const { statusCode, headers } = await waiting
    expect([statusCode, headers['preference-applied']]).toEqual([304, 'wait=2'])
  })

  test('it is ready but stale, and takes no changes', async () => {
    const ready = { status: 200, state: 'stale', body: { status: 'ok', state: 'stale' } }
    // On PostgreSQL a failed attempt to write may add `writes`.
    expect(await health('ready')).toMatchObject(ready)
    const reason = { status: 'unavailable', reason: 'storage' }
    expect(await health('write')).toEqual({ status: 503, body: reason })
    clock.advance(600_000)
    expect(await health('ready')).toEqual({ status: 503, body: reason })
  })
})

test('a held request that accepts no stale answer is sent elsewhere when the database is lost', async () => {
  const { etag } = (await fetchJwks(server)).headers
  const headers = { 'if-none-match': String(etag), prefer: 'wait=60', ...freshOnly }
  const waiting = fetchJwks(server, headers)
  const fault = await server.database.destroy()
  clock.advance(1_000)
  const { statusCode, body } = await waiting
  expect([statusCode, JSON.parse(body).code]).toEqual([503, 'storage_unavailable'])
  await fault.restore()
})

test('/health/write recovers by a trial after a change that failed', async () => {
  const lock = await server.database.lockWrites()
  const failed = server.send('POST', '/v1/projects', { body: { name: 'unwritten' } })
  expect((await failed).statusCode).toBe(503)
  expect((await health('ready')).body).toEqual({ status: 'ok', state: 'fresh', writes: 'failing' })
  await lock.release()
  expect((await health('write')).status).toBe(200)
  expect((await health('ready')).body).toEqual({ status: 'ok', state: 'fresh' })
})

test('a limit of 0 serves no stale document', async () => {
  const strict = await startApp({ clock, config: { jwksStaleLimit: 0 } })
  await registerKey(strict)
  expect((await fetchJwks(strict)).statusCode).toBe(200)
  const fault = await strict.database.destroy()
  clock.advance(500)
  expect((await fetchJwks(strict)).statusCode).toBe(503)
  await fault.restore()
  await waitUntil(async () => (await fetchJwks(strict)).statusCode === 200)
})
