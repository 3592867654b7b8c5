import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { heldRequestsOf } from '../../../packages/server/src/features/publishing/held-requests.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { stoppedClock, testClock } from '../../support/app/clock.ts'
import {
  fetchJwks,
  heldRequests,
  jwksUrl,
  kidsOf,
  newProject,
  patchKey,
  patchKeyInStore,
  registerKey,
} from '../../support/app/keys.ts'
import { keyFor } from '../../support/keys/tokens.ts'
import { rawConnection, requestHead } from '../../support/network/raw-connection.ts'
import { expectWithin } from '../../support/timing.ts'

const server = await startApp()
const base = await server.listen()

let projects = 0
/** A project with one key, and the requests of its verifiers. */
async function started(on = server, address = base) {
  projects += 1
  const project = await newProject(on, `held-${projects}`)
  const kid = await registerKey(on, {}, project.keys)
  return {
    ...project,
    kid,
    etag: async () => String((await fetchJwks(on, {}, project.jwks)).headers.etag),
    change: (patch: object) => patchKey(on, kid, patch, project.keys),
    hold: (etag: string, prefer = 'wait=60', signal?: AbortSignal) =>
      fetch(address + project.jwks, {
        headers: { 'if-none-match': etag, prefer },
        ...(signal === undefined ? {} : { signal }),
      }),
  }
}

/** Whether the request is still unanswered after these milliseconds. */
const waits = async (answer: Promise<Response>, ms = 400) =>
  (await Promise.race([answer, delay(ms)])) === undefined

describe.concurrent('a request with If-None-Match and Prefer: wait', () => {
  test('is answered within a second of the PATCH that deactivates a key, 100 of 100 times', async () => {
    const { kid, etag, hold, change } = await started()
    let slowest = 0
    for (let round = 0; round < 100; round += 1) {
      const active = round % 2 === 1
      const held = hold(await etag())
      // Half of them arrive just before the change, half are waiting already.
      if (round % 4 < 2) await delay(10)
      const began = performance.now()
      await change({ active })
      const answer = await held
      slowest = Math.max(slowest, performance.now() - began)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('preference-applied')).toBe('wait=60')
      expect(kidsOf(await answer.text())).toEqual(active ? [kid] : ['no-active-key'])
    }
    expectWithin(1_000, slowest)
  })

  test('is answered within a second of a change by another process', async () => {
    const { id, kid, etag, hold } = await started()
    const held = hold(await etag())
    expect(await waits(held)).toBe(true)
    const began = performance.now()
    await patchKeyInStore(server, id, kid, { active: false })
    expect(kidsOf(await (await held).text())).toEqual(['no-active-key'])
    expectWithin(1_000, performance.now() - began)
  })

  test('is answered within a second of the expireTime of a key, without a write', async () => {
    const clock = testClock()
    const other = await startApp({ clock })
    const { keys, kid, etag, hold } = await started(other, await other.listen())
    const expireTime = new Date(clock.now() + 3_600_000).toISOString()
    await registerKey(other, { expireTime }, keys)
    const before = await etag()
    clock.advance(Date.parse(expireTime) - clock.now() - 50_000)
    const held = hold(before)
    await expect.poll(heldRequestsOf(other.app.kernel).count).toBe(1)
    const began = performance.now()
    clock.advance(50_000)
    const answer = await held
    expectWithin(1_000, performance.now() - began)
    expect(kidsOf(await answer.text())).toEqual([kid])
  })

  test('is answered for the key set that it asked for, when that changes', async () => {
    const { keys, jwks, fullJwks, etag } = await started()
    const tag = await etag()
    const hold = (path: string) =>
      fetch(base + path, { headers: { 'if-none-match': tag, prefer: 'wait=60' } })
    const [common, full] = [hold(jwks), hold(fullJwks)]
    expect(await waits(full)).toBe(true)
    const { publicKeyPem } = keyFor('ML-DSA-44')
    await registerKey(server, { algorithm: 'ML-DSA-44', publicKeyPem }, keys)
    expect(kidsOf(await (await full).text())).toHaveLength(2)
    expect(await waits(common)).toBe(true)
    await registerKey(server, {}, keys)
    expect(kidsOf(await (await common).text())).toHaveLength(2)
  })

  test('is answered with a complete 304 when the time is over', async () => {
    const { etag: present, hold } = await started()
    const etag = await present()
    const began = performance.now()
    const answer = await hold(etag, 'respond-async, WAIT="1"')
    const took = performance.now() - began
    expect(answer.status).toBe(304)
    expect(took).toBeGreaterThanOrEqual(990)
    expectWithin(2_000, took)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      etag,
      'cache-control': 'public, max-age=60',
      'preference-applied': 'wait=1',
      'access-control-allow-origin': '*',
    })
  })

  test('is not answered when something changes that is not published', async () => {
    const { keys, etag, hold, change } = await started()
    const held = hold(await etag())
    await waits(held, 50)
    await change({ label: 'renamed' })
    await registerKey(server, { active: false }, keys)
    expect(await waits(held)).toBe(true)
    await change({ active: false })
    expect((await held).status).toBe(200)
  })

  test('is answered at once if the key set differs already', async () => {
    const { hold } = await started()
    const answer = await hold('"of yesterday"')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('preference-applied')).toBe('wait=60')
  })

  test.for<[string, Record<string, string>, number]>([
    ['without If-None-Match', { prefer: 'wait=60' }, 200],
    ['with a wait of 0', { prefer: 'wait=0', 'if-none-match': '*' }, 304],
    ['with an invalid wait', { prefer: 'wait=soon', 'if-none-match': '*' }, 304],
  ])('is answered at once %s', async ([, headers, status]) => {
    const answer = await fetch(base + jwksUrl, { headers })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('preference-applied')).toBeNull()
  })

  test('is answered 404 when the project is deleted', async () => {
    const { name, keys, kid, etag, hold, change } = await started()
    await change({ active: false })
    await server.send('DELETE', `${keys}/${kid}`)
    const held = hold(await etag())
    await waits(held, 50)
    await server.send('DELETE', `/v1/projects/${name}`)
    const answer = await held
    expect(answer.status).toBe(404)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })

  test('is held too for HEAD and for a list of tags', async () => {
    const { jwks, etag, change } = await started()
    const headers = { 'if-none-match': `"old", W/${await etag()}`, prefer: 'wait=30' }
    const held = fetch(base + jwks, { method: 'HEAD', headers })
    expect(await waits(held)).toBe(true)
    await change({ active: false })
    expect((await held).status).toBe(200)
  })
})

test('a request is held for at most 60 seconds', async () => {
  const clock = stoppedClock()
  const other = await startApp({ clock })
  const { etag, hold } = await started(other, await other.listen())
  const held = hold(await etag(), 'wait=3600')
  await expect.poll(heldRequestsOf(other.app.kernel).count).toBe(1)
  clock.advance(59_000)
  expect(await waits(held, 300)).toBe(true)
  clock.advance(1_000)
  const answer = await held
  expect(answer.status).toBe(304)
  expect(answer.headers.get('preference-applied')).toBe('wait=60')
  // That of the response, from which its age is counted, by the clock of the server.
  const sentMs = Math.floor(clock.now() / 1_000) * 1_000
  expect(Date.parse(answer.headers.get('date') ?? '')).toBe(sentMs)
  const { headers } = await other.inject({ url: '/v1/projects/absent/.well-known/jwks.json' })
  expect(Date.parse(String(headers.date))).toBe(sentMs)
})

describe('the number of held requests', () => {
  let few: TestApp
  let address: string
  beforeAll(async () => {
    few = await startApp({
      config: { heldRequests: { capacity: 5, share: 100 } },
      http: { metrics: true },
    })
    address = await few.listen()
  })

  /** Sends requests on raw connections, and waits until all are held. */
  async function fill(jwks: string, etag: string) {
    const connections = Array.from({ length: 5 }, () => rawConnection(address))
    for (const { socket } of connections) {
      const request = [`GET ${jwks} HTTP/1.1`, 'Host: x', `If-None-Match: ${etag}`]
      socket.write(requestHead(...request, 'Prefer: wait=60'))
    }
    await expect.poll(() => heldRequests(few)).toBe(connections.length)
    return connections
  }

  test('is limited: requests beyond the limit are answered at once', async () => {
    const project = await started(few, address)
    const etag = await project.etag()
    const connections = await fill(project.jwks, etag)
    const beyond = await project.hold(etag)
    expect(beyond.status).toBe(304)
    expect(beyond.headers.get('preference-applied')).toBeNull()
    await project.change({ active: false })
    await Promise.all(connections.map(({ waitFor }) => waitFor(/HTTP\/1\.1 200 /)))
    for (const { socket } of connections) socket.destroy()
    await expect.poll(() => heldRequests(few)).toBe(0)
  })

  test('falls when clients close or reset their connections', async () => {
    const { jwks, etag, hold } = await started(few, address)
    const tag = await etag()
    for (const isReset of [false, true]) {
      const connections = await fill(jwks, tag)
      expect(connections.every(({ received }) => received() === '')).toBe(true)
      for (const { socket } of connections) {
        if (isReset) socket.resetAndDestroy()
        else socket.destroy()
      }
      await Promise.all(connections.map(({ closed }) => closed))
      await expect.poll(() => heldRequests(few)).toBe(0)
    }
    expect((await hold(tag, 'wait=1')).headers.get('preference-applied')).toBe('wait=1')
  })
})

test('shutdown answers all held requests and closes their connections', async () => {
  const closing = await startApp({ http: { metrics: true } })
  const address = await closing.listen()
  const { jwks, etag } = await started(closing, address)
  const tag = await etag()
  const connections = Array.from({ length: 50 }, () => rawConnection(address))
  for (const { socket } of connections) {
    const request = [`GET ${jwks} HTTP/1.1`, 'Host: x', `If-None-Match: ${tag}`]
    socket.write(requestHead(...request, 'Prefer: wait=60'))
  }
  await expect.poll(() => heldRequests(closing)).toBe(connections.length)
  expect(connections.every(({ received }) => received() === '')).toBe(true)
  const began = performance.now()
  await closing.close()
  for (const { closed } of connections) {
    const answer = await closed
    expect(answer).toMatch(/^HTTP\/1\.1 304 /)
    expect(answer.toLowerCase()).toContain('connection: close')
  }
  expectWithin(2_000, performance.now() - began)
})

test('requests that are sent again at once are put off until a change has answered all others', async () => {
  const other = await startApp()
  const address = await other.listen()
  const { jwks, etag, change } = await started(other, address)
  const { count } = heldRequestsOf(other.app.kernel)
  const [tag, length] = [await etag(), 600]
  const hold = (known: string) =>
    requestHead(`GET ${jwks} HTTP/1.1`, 'Host: x', `If-None-Match: ${known}`, 'Prefer: wait=60')
  for (let open = 1; open <= length; open += 1) {
    const { socket } = rawConnection(address)
    socket.write(hold(tag))
    socket.on('data', (chunk) => {
      const [, next = ''] = /^etag: (.*)\r$/im.exec(String(chunk)) ?? []
      socket.write(hold(next))
    })
    // Few at once: the system resets connections that wait for too long to be accepted.
    if (open % 200 === 0) await expect.poll(count).toBe(open)
  }
  await change({ active: false })
  let fewest = length
  do {
    await setImmediate()
    fewest = Math.min(fewest, count())
  } while (fewest === length || count() < length)
  expect(fewest).toBe(0)
})
