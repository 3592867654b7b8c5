import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { type EventStreamApp, startEventStreamApp } from '../../support/app/event-streams.ts'
import { fetchJwks, jwksUrl, newProject, registerKey } from '../../support/app/keys.ts'
import { distinctKey, keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'
import { waitUntil } from '../../support/waiting.ts'

describe('event streams', () => {
  const capacity = 20
  let server: EventStreamApp
  beforeAll(async () => {
    server = await startEventStreamApp(capacity, 25)
  })
  afterEach(() => server.closeStreams())
  afterAll(() => server.close())

  const apiKey = async (...binding: [string] | []) => {
    return { 'x-api-key': await server.apiKey('reader', ...binding) }
  }
  const openMany = async (count: number, headers: Record<string, string>, path?: string) => {
    const statuses: number[] = []
    for (let n = 0; n < count; n += 1) statuses.push((await server.open(headers, path)).status)
    return statuses
  }

  test('of one API key beyond its share are 429 in any project, until they end; others are 200', async () => {
    const greedy = await apiKey()
    const other = await newProject(server, 'streams-of-a-key')
    const events = `/v1/projects/${other.id}/events`
    expect(await openMany(3, greedy)).toEqual([200, 200, 200])
    expect(await openMany(3, greedy, events)).toEqual([200, 200, 429])
    const refused = await server.open(greedy)
    expect(refused.headers.get('retry-after')).toBe('10')
    await refused.endedCleanly
    expect(JSON.parse(refused.text())).toMatchObject({ code: 'rate_limited', status: 429 })
    expect(await openMany(1, await apiKey())).toEqual([200])
    await server.closeStreams()
    expect(await openMany(6, greedy)).toEqual([200, 200, 200, 200, 200, 429])
  })

  test('of one project beyond its share are 429 with any API key; beyond all places, 503', async () => {
    const paths: string[] = []
    for (let n = 0; n < 6; n += 1) {
      paths.push(`/v1/projects/${(await newProject(server, `reserve-${n}`)).id}/events`)
    }
    expect(await openMany(4, await apiKey(), paths[0])).toEqual([200, 200, 200, 200])
    expect(await openMany(2, await apiKey(), paths[0])).toEqual([200, 429])
    for (const path of paths.slice(1, 3)) {
      expect(await openMany(5, await apiKey(), path)).toEqual([200, 200, 200, 200, 200])
    }
    // The last two are reserved.
    expect(await openMany(5, await apiKey(), paths[3])).toEqual([200, 200, 200, 429, 429])
    expect(await openMany(2, await apiKey(), paths[4])).toEqual([200, 429])
    expect(await openMany(1, await apiKey(), paths[5])).toEqual([200])
    expect(await openMany(1, await apiKey(), paths[5])).toEqual([503])
  })
})

describe('held requests', () => {
  let server: TestApp
  let base: string
  let etag: string
  beforeAll(async () => {
    const heldRequests = { capacity: 20, share: 50 }
    server = await startApp({
      config: { heldRequests },
      http: { trustProxy: true, metrics: true },
    })
    base = await server.listen()
    await registerKey(server)
    etag = String((await fetchJwks(server)).headers.etag)
  })
  afterAll(() => server.close())

  const heldNow = async () => {
    const gauge = await server.app.metrics?.getSingleMetric('pubring_held_requests')?.get()
    return gauge?.values[0]?.value ?? Number.NaN
  }
  const aborts: AbortController[] = []
  afterEach(async () => {
    for (const controller of aborts.splice(0)) controller.abort()
    await expect.poll(heldNow).toBe(0)
  })

  /** Whether a request from the address is held; otherwise it is answered at once. */
  async function isHeld(address: string): Promise<boolean> {
    const before = await heldNow()
    const controller = new AbortController()
    aborts.push(controller)
    const headers = { 'if-none-match': etag, prefer: 'wait=60', 'x-forwarded-for': address }
    const request = fetch(base + jwksUrl, { headers, signal: controller.signal })
    let answer: Response | undefined
    request.then(
      (response) => {
        answer = response
      },
      () => {},
    )
    await waitUntil(async () => answer !== undefined || (await heldNow()) > before)
    if (answer === undefined) return true
    expect(answer.status).toBe(304)
    expect(answer.headers.get('preference-applied')).toBeNull()
    return false
  }
  async function holdMany(count: number, address: string): Promise<number> {
    let held = 0
    for (let n = 0; n < count; n += 1) if (await isHeld(address)) held += 1
    return held
  }

  test('of one address beyond its share are answered at once; others are held until all are taken', async () => {
    expect(await holdMany(15, '192.0.2.1')).toBe(10)
    expect(await holdMany(15, '192.0.2.2')).toBe(8)
    expect(await holdMany(2, '192.0.2.3')).toBe(1)
    expect(await holdMany(1, '192.0.2.4')).toBe(1)
    expect(await holdMany(1, '192.0.2.5')).toBe(0)
  })

  test('of one /64 of IPv6 share', async () => {
    expect(await holdMany(6, '2001:db8::1')).toBe(6)
    expect(await holdMany(6, '2001:db8::2')).toBe(4)
    expect(await holdMany(1, '2001:db8:0:1::1')).toBe(1)
  })
})

test('a change waits for one of those of a caller with many, and not for all of them', async () => {
  const server = await startApp()
  const project = await newProject(server, 'greedy')
  const headers = { 'x-api-key': await server.apiKey('admin', project.id) }
  const body = { name: 'deploy', role: 'writer' }
  const bound = { headers, body: { ...body, project: project.id } }
  const many = 800
  let answered = 0
  const flood = Array.from({ length: many }, async () => {
    const { statusCode } = await server.send('POST', '/v1/api-keys', bound)
    answered += 1
    return statusCode
  })
  await Promise.race(flood)
  expect((await server.send('POST', '/v1/api-keys', { body })).statusCode).toBe(201)
  expect(answered).toBeLessThan(many)
  // A slow machine cannot make all of them before they time out.
  for (const status of await Promise.all(flood)) expect([201, 503]).toContain(status)
})

test('a change of the system waits for none of the changes that a caller makes in many projects', async () => {
  const { store } = await openTestStore()
  const projects = 40
  const ids: string[] = []
  for (let n = 0; n < projects; n += 1) ids.push((await createProject(store, `many-${n}`)).id)
  const made: string[] = []
  const by = (apiKeyId: string) => ({ ...origin(), actor: { name: apiKeyId, apiKeyId } })
  const createApiKey = async (creator: string) => {
    const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: 'ci', role: 'writer' })
    await store.commit(apiKeyChanges.createApiKey, { origin: by(creator), apiKey })
    made.push(`an API key by ${creator}`)
  }
  const template = keyRecord('')
  const createKey = async (projectId: string) => {
    const key = { ...distinctKey(template), projectId }
    await store.commit(keyChanges.createKey, { origin: by('greedy'), key, limits })
    made.push('a key by greedy')
  }
  const greedy = [...ids.map(createKey), createApiKey('greedy')]
  await Promise.all([...greedy, createApiKey('other')])
  expect(made).toHaveLength(projects + 2)
  expect(made.indexOf('an API key by other')).toBeLessThan(projects / 2)
})
