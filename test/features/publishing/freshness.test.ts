import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import {
  fetchJwks,
  jwksUrl,
  kidsOf,
  maxAgeOf,
  newProject,
  patchKey,
  registerKey,
} from '../../support/app/keys.ts'

const start = Date.parse('2030-01-01T00:00:00.000Z')
let time = start
const clock = { now: () => time, monotonic: () => performance.now() }

const server = await startApp({ clock })

beforeEach(() => {
  time = start
})

const activeKids = async (url: string) =>
  (await server.send('GET', `${url}?active=true`)).json().map(({ id }: { id: string }) => id)

/** Without the placeholder of a project that has no active key. */
const registeredKidsOf = (jwks: string) => kidsOf(jwks).filter((kid) => kid !== 'no-active-key')

describe('acknowledged changes are published', () => {
  test('the JWKS has a new key and a changed one once the request is answered, 50 times', async () => {
    const { keys, jwks } = await newProject(server, 'acknowledged')
    const published = async () => kidsOf((await fetchJwks(server, {}, jwks)).body)
    expect(await published()).toEqual([])
    const kid = await registerKey(server, {}, keys)
    for (let round = 0; round < 50; round += 1) {
      const active = round % 2 === 1
      expect(await published()).toEqual(active ? ['no-active-key'] : [kid])
      await patchKey(server, kid, { active }, keys)
      expect(await published()).toEqual(active ? [kid] : ['no-active-key'])
    }
    const second = await registerKey(server, {}, keys)
    expect(await published()).toEqual([kid, second])
  })
})

describe('expireTime', () => {
  test('a key leaves the active list and the JWKS at the millisecond of its expireTime, without a write', async () => {
    const { keys, jwks } = await newProject(server, 'expiring')
    const published = async () => kidsOf((await fetchJwks(server, {}, jwks)).body)
    const lasting = await registerKey(server, {}, keys)
    const expireTime = '2030-01-01T00:01:00.000Z'
    const expiring = await registerKey(server, { expireTime }, keys)
    const revision = async () => (await server.send('GET', '/v1/projects/expiring')).json().revision
    const before = await revision()
    time = Date.parse(expireTime) - 1
    expect(await published()).toEqual([lasting, expiring])
    expect(await activeKids(keys)).toEqual([lasting, expiring])
    time += 1
    expect(await published()).toEqual([lasting])
    expect(await activeKids(keys)).toEqual([lasting])
    expect(await revision()).toBe(before)
  })

  test('max-age ends before it, and is 0 in the last second', async () => {
    const { id, keys, jwks } = await newProject(server, 'ages')
    await registerKey(server, { expireTime: '2030-01-01T02:00:00.000Z' }, keys)
    await registerKey(server, { expireTime: '2030-01-01T01:00:00.000Z', active: false }, keys)
    await registerKey(server, { expireTime: '2030-01-01T00:02:00.000Z' }, keys)
    const discovery = `/v1/projects/${id}/.well-known/openid-configuration`
    const maxAge = async () => {
      const [set, found] = [
        await fetchJwks(server, {}, jwks),
        await fetchJwks(server, {}, discovery),
      ]
      expect(maxAgeOf(found.headers)).toBe(maxAgeOf(set.headers))
      const headers = { 'if-none-match': String(set.headers.etag) }
      const known = await fetchJwks(server, headers, jwks)
      expect(known.statusCode).toBe(304)
      expect(maxAgeOf(known.headers)).toBe(maxAgeOf(set.headers))
      return maxAgeOf(set.headers)
    }
    for (const [second, expected] of [
      [0, 60],
      [59, 60],
      [60, 60],
      [60.001, 59],
      [90, 30],
      [118.5, 1],
      [119, 1],
      [119.001, 0],
      [119.999, 0],
      [120, 60],
      [3_600, 60],
      [7_199.5, 0],
      [7_200, 60],
      // The clock is set back.
      [90, 30],
    ] as const) {
      time = start + second * 1_000
      expect(await maxAge(), `after ${second} s`).toBe(expected)
    }
  })

  test('a key whose expireTime is cleared is published again with the next request', async () => {
    const { keys, jwks } = await newProject(server, 'cleared')
    const kid = await registerKey(server, { expireTime: '2030-01-01T00:00:01.000Z' }, keys)
    time += 2_000
    expect(kidsOf((await fetchJwks(server, {}, jwks)).body)).toEqual(['no-active-key'])
    await patchKey(server, kid, { expireTime: null }, keys)
    const answer = await fetchJwks(server, {}, jwks)
    expect(kidsOf(answer.body)).toEqual([kid])
    expect(maxAgeOf(answer.headers)).toBe(60)
  })
})

test('max-age is as configured, including 0', async () => {
  for (const jwksMaxAge of [0, 300]) {
    const other = await startApp({ config: { jwksMaxAge } })
    expect(maxAgeOf((await fetchJwks(other)).headers)).toBe(jwksMaxAge)
    await other.close()
  }
})

test('2,000 reads during 20 changes a second: one ETag per document, each a state that existed, no error', async () => {
  const base = await server.listen()
  const kids = [await registerKey(server), await registerKey(server), await registerKey(server)]
  let state: string[] = [...kids]
  const states = new Set([JSON.stringify(state)])
  let reading = true
  const writing = (async () => {
    for (let round = 0; reading; round += 1) {
      const kid = kids[round % 3] ?? ''
      const active = !state.includes(kid)
      state = kids.filter((each) => (each === kid ? active : state.includes(each)))
      states.add(JSON.stringify(state))
      await patchKey(server, kid, { active })
      await delay(50)
    }
  })()
  const bytes = new Map<string, string>()
  let etag = ''
  const reader = async (index: number): Promise<void> => {
    for (let i = 0; i < 100; i += 1) {
      const headers: Record<string, string> = index % 2 === 0 ? { 'if-none-match': etag } : {}
      const answer = await fetch(base + jwksUrl, { headers })
      expect([200, 304]).toContain(answer.status)
      const body = await answer.text()
      etag = String(answer.headers.get('etag'))
      if (answer.status === 304) continue
      expect(bytes.get(etag) ?? body).toBe(body)
      bytes.set(etag, body)
      expect(states).toContain(JSON.stringify(registeredKidsOf(body)))
      expect(etag).toBe(`"${hash('sha256', body, 'base64url').slice(0, 27)}"`)
      await delay(Math.random() * 20)
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, index) => reader(index)))
  reading = false
  await writing
  expect(bytes.size).toBeGreaterThan(3)
  expect(registeredKidsOf((await fetchJwks(server)).body)).toEqual(state)
})
