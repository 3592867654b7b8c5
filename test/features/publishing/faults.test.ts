import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import {
  fetchJwks,
  heldRequests,
  jwksUrl,
  keysUrl,
  kidsOf,
  maxAgeOf,
  patchKey,
  registerKey,
} from '../../support/app/keys.ts'
import { openEventStream } from '../../support/network/event-stream.ts'
import { expectWithin } from '../../support/timing.ts'
import { waitUntil } from '../../support/waiting.ts'

const clock = testClock()
let kid: string

const server = await startApp({ clock, config: { jwksStaleLimit: 600 }, http: { metrics: true } })
const base = await server.listen()
const discoveryUrl = `/v1/projects/${server.project.id}/.well-known/openid-configuration`

/** Each test starts with one active key. */
beforeEach(async () => {
  for (const { id } of (await server.send('GET', keysUrl)).json()) {
    await patchKey(server, id, { active: false })
    await server.send('DELETE', `${keysUrl}/${id}`)
  }
  kid = await registerKey(server)
})

const publicUrls = () => [
  jwksUrl,
  `/v1/projects/${server.project.id}/.well-known/jwks.json`,
  discoveryUrl,
]
/** The server polls for it with pauses of up to two seconds. */
const whenBack = () => waitUntil(async () => (await server.send('GET', keysUrl)).statusCode === 200)
const get = (url: string, headers: Record<string, string> = {}) => fetchJwks(server, headers, url)

describe('while the database is unavailable', () => {
  test('the last documents are served until the limit, then 503, and again when it is available', async () => {
    const good = await Promise.all(publicUrls().map((url) => get(url)))
    const start = clock.monotonic()
    const passUntil = (age: number) => clock.advance(Math.max(0, start + age - clock.monotonic()))
    const fault = await server.database.destroy()
    for (const age of [0, 61_000, 581_000]) {
      passUntil(age)
      for (const [index, url] of publicUrls().entries()) {
        const response = await get(url)
        expect(response.statusCode).toBe(200)
        expect(response.body).toBe(good[index]?.body)
        expect(response.headers.etag).toBe(good[index]?.headers.etag)
        const known = await get(url, { 'if-none-match': String(response.headers.etag) })
        expect(known.statusCode).toBe(304)
        for (const { headers } of [response, known]) {
          const isStale = headers.age !== undefined
          if (age > 0) expect(Number(headers.age)).toBeGreaterThanOrEqual(age / 1_000)
          expect(maxAgeOf(headers)).toBe(isStale ? 0 : 60)
        }
      }
    }
    passUntil(601_000)
    for (const url of publicUrls()) {
      const response = await get(url)
      expect(response.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
      expect(response.headers['cache-control']).toBe('no-store')
      expect(response.headers['access-control-allow-origin']).toBe('*')
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
      expect(response.headers).not.toHaveProperty('etag')
    }
    await fault.restore()
    await whenBack()
    for (const [index, url] of publicUrls().entries()) {
      expect((await get(url)).body).toBe(good[index]?.body)
    }
    await patchKey(server, kid, { active: false })
    expect((await get(jwksUrl)).body).toContain('no-active-key')
  })

  test('everything else is 503 immediately, with Retry-After, and never an empty list', async () => {
    const fault = await server.database.destroy()
    for (const [method, url, body] of [
      ['GET', keysUrl, undefined],
      ['GET', `${keysUrl}/${kid}`, undefined],
      ['PATCH', `${keysUrl}/${kid}`, { active: false }],
      ['DELETE', `${keysUrl}/${kid}`, undefined],
      ['GET', '/v1/projects/payments/events', undefined],
      ['GET', '/v1/events', undefined],
    ] as const) {
      const start = performance.now()
      const response = await server.send(method, url, { body })
      expect(response.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
      expect(response.headers['cache-control']).toBe('no-store')
      expectWithin(1_000, performance.now() - start)
    }
    await fault.restore()
    await whenBack()
    expect((await server.send('GET', `${keysUrl}/${kid}`)).json().active).toBe(true)
  })

  test('a project without cached documents is 503, neither 404 nor an empty set', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'unseen' } })
    const fault = await server.database.destroy()
    for (const name of ['unseen', 'nope', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71']) {
      const response = await get(`/v1/projects/${name}/.well-known/jwks.json`)
      expect(response.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
      expect(response.headers['cache-control']).toBe('no-store')
    }
    await fault.restore()
    await whenBack()
  })

  test('a key still leaves the documents at its expireTime', async () => {
    const expireTime = new Date(clock.now() + 30_000).toISOString()
    const brief = await registerKey(server, { expireTime })
    expect(kidsOf((await get(jwksUrl)).body)).toEqual([kid, brief])
    const fault = await server.database.destroy()
    clock.advance(10_000)
    expect(maxAgeOf((await get(jwksUrl)).headers)).toBeLessThanOrEqual(20)
    clock.advance(20_000)
    expect(kidsOf((await get(jwksUrl)).body)).toEqual([kid])
    await fault.restore()
    await whenBack()
  })

  test('held requests keep waiting, and report the change when it is available', async () => {
    const headers = { 'if-none-match': String((await get(jwksUrl)).headers.etag) }
    const held = fetch(base + jwksUrl, { headers: { ...headers, prefer: 'wait=60' } })
    await expect.poll(() => heldRequests(server)).toBe(1)
    const fault = await server.database.destroy()
    const timed = await fetch(base + jwksUrl, { headers: { ...headers, prefer: 'wait=1' } })
    expect(timed.status).toBe(304)
    expect(await heldRequests(server)).toBe(1)
    await fault.restore()
    await whenBack()
    await patchKey(server, kid, { active: false })
    expect(await (await held).text()).toContain('no-active-key')
  })

  test('event streams stay open, and deliver all events when it is available', async () => {
    const headers = { 'x-api-key': server.admin }
    const reader = await openEventStream(`${base}/v1/projects/payments/events`, headers)
    const { length } = (await server.send('GET', '/v1/projects/payments/events')).json()
    await reader.waitForEvents(length)
    const fault = await server.database.destroy()
    const ready = () => server.send('GET', '/health/ready')
    await waitUntil(async () => (await ready()).json().state === 'stale')
    await fault.restore()
    await whenBack()
    await patchKey(server, kid, { active: false })
    const events = await reader.waitForEvents(length + 1)
    expect(events.map(({ id }) => Number.parseInt(id, 10))).toEqual(events.map((_, i) => i + 1))
    reader.close()
    await reader.endedCleanly
  })
})

test('while another process holds the exclusive lock, reads succeed and writes wait', async () => {
  const good = await get(jwksUrl)
  const lock = await server.database.lockWrites()
  clock.advance(1_000)
  const list = await server.send('GET', `${keysUrl}?active=true`)
  expect(list.json().map(({ id }: { id: string }) => id)).toEqual([kid])
  expect((await get(jwksUrl)).body).toBe(good.body)
  const fresh = await server.send('GET', '/v1/projects/payments/events')
  expect(fresh.statusCode).toBe(200)
  const writing = server.send('PATCH', `${keysUrl}/${kid}`, { body: { active: false } })
  await delay(300)
  expect((await get(jwksUrl)).body).toBe(good.body)
  await lock.release()
  expect((await writing).statusCode).toBe(200)
  expect((await get(jwksUrl)).body).toContain('no-active-key')
})
