import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../../support/app/app.ts'
import { stoppedClock } from '../../../support/app/clock.ts'
import {
  jwksUrl,
  keysUrl,
  newProject,
  patchKey,
  patchKeyInStore,
  registerKey,
} from '../../../support/app/keys.ts'

const clock = stoppedClock()
/** Requests that reached the routes of either. */
let routed = 0

const server = await startApp({ clock })
/** Another process on the same database. */
const other = await startApp({ clock, database: server.database })
for (const { app } of [server, other]) {
  app.addHook('onSend', async () => {
    routed += 1
  })
}
const kid = await registerKey(server, { name: 'ünïcode' })

beforeEach(() => {
  routed = 0
})

interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** Sends a request over a socket, with an admin API key unless the headers say otherwise. */
async function send(of: TestApp, url: string, { method = 'GET', headers, body }: Sent = {}) {
  const { port } = of.app.server.address() as { port: number }
  const sent = request({
    port,
    method,
    path: url,
    headers: { 'x-api-key': server.admin, ...headers },
  })
  sent.end(body)
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  if (answer === undefined) throw new Error('no answer')
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
}

/** The response without what differs for every request. */
function lasting({ status, headers, body }: Awaited<ReturnType<typeof send>>) {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, headers: rest, body }
}

const discoveryUrl = () => `/v1/projects/${server.project.id}/.well-known/openid-configuration`
const addresses: [string, () => string][] = [
  ['the key set by id', () => jwksUrl.replace('payments', server.project.id)],
  ['the discovery document', discoveryUrl],
  ['the list of active keys', () => `${keysUrl}?active=true`],
  ['one key', () => `${keysUrl}/${kid}`],
]

describe('a cached response', () => {
  beforeAll(async () => {
    await server.listen()
    await other.listen()
  })

  test.each(addresses)('equals that of the route, header by header: %s', async (_name, url) => {
    // The first response is not stored.
    await send(server, url())
    const routedOne = await send(server, url())
    expect([routedOne.status, routed]).toEqual([200, 2])
    const stored = await send(server, url())
    expect(routed).toBe(2)
    expect(lasting(stored)).toEqual(lasting(routedOne))
    expect(stored.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(stored.headers['x-request-id']).not.toBe(routedOne.headers['x-request-id'])
  })

  test.each(addresses)('becomes the same 304 for a client that has it: %s', async (_name, url) => {
    const { etag } = (await send(server, url())).headers
    routed = 0
    const headers = { 'if-none-match': `"x", W/${etag}` }
    await send(other, url(), { headers })
    const routedOne = await send(other, url(), { headers })
    expect([routedOne.status, routed]).toEqual([304, 2])
    expect(lasting(await send(other, url(), { headers }))).toEqual(lasting(routedOne))
    expect((await send(other, url())).body).not.toBe('')
    expect(routed).toBe(2)
  })
})

describe('goes to the routes', () => {
  beforeEach(async () => {
    for (const url of [jwksUrl, keysUrl, jwksUrl, keysUrl]) await send(server, url)
    routed = 0
  })

  test.each<[string, Sent, number]>([
    ['HEAD', { method: 'HEAD' }, 200],
    ['another method', { method: 'PUT' }, 405],
    ['a body', { headers: { 'content-length': '2' }, body: '{}' }, 200],
    ['an API key that is not known', { headers: { 'x-api-key': 'pubring_x' } }, 401],
    ['an API key that is empty', { headers: { 'x-api-key': '' } }, 401],
    ['another spelling of Accept', { headers: { accept: 'text/html' } }, 200],
  ])('%s', async (_name, sent, status) => {
    expect((await send(server, keysUrl, sent)).status).toBe(status)
    expect(routed).toBe(1)
  })

  test('a URL or an Accept header too long for the cache, however often it comes', async () => {
    const long = 'x'.repeat(500)
    for (const _time of [1, 2, 3]) {
      expect((await send(server, `${jwksUrl}?${long}`)).status).toBe(200)
      expect((await send(server, jwksUrl, { headers: { accept: long } })).status).toBe(200)
    }
    expect(routed).toBe(6)
  })

  test('a request to be held', async () => {
    const headers = { prefer: 'wait=1', 'if-none-match': '"other"' }
    const answer = await send(server, jwksUrl, { headers })
    expect(answer.headers['preference-applied']).toBe('wait=1')
    expect(routed).toBe(1)
  })

  test('a request without Host', async () => {
    const { port } = server.app.server.address() as { port: number }
    const socket = connect(port)
    socket.write(`GET ${jwksUrl} HTTP/1.1\r\nConnection: close\r\n\r\n`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('a request behind an unanswered one of the same connection, in order', async () => {
    const { port } = server.app.server.address() as { port: number }
    const lines = [`Host: x`, `X-Api-Key: ${server.admin}`]
    const get = (url: string, ...more: string[]) =>
      `GET ${url} HTTP/1.1\r\n${[...lines, ...more].join('\r\n')}\r\n\r\n`
    const socket = connect(port)
    socket.write(get('/v1/projects') + get(jwksUrl, 'Connection: close'))
    const answers = (await text(socket)).split('HTTP/1.1 200 OK').slice(1)
    expect(answers.map((answer) => answer.includes('"kty"'))).toEqual([false, true])
  })
})

describe('a cached response is not served', () => {
  test('to another API key', async () => {
    const { id, keys } = await newProject(server, 'neighbour')
    const [bound, stranger] = [
      await server.apiKey('reader', id),
      await server.apiKey('reader', server.project.id),
    ]
    const as = async (secret: string) =>
      (await send(server, keys, { headers: { 'x-api-key': secret } })).status
    for (const _time of [1, 2, 3]) expect(await as(bound)).toBe(200)
    expect(await as(stranger)).toBe(404)
    expect(await as(bound)).toBe(200)
  })

  test('once its API key is deactivated by another process or has expired', async () => {
    const expireTime = new Date(clock.now() + 60_000).toISOString()
    const body = { name: 'n', role: 'reader', expireTime }
    const { id, apiKey } = (await server.send('POST', '/v1/api-keys', { body })).json()
    const status = async () =>
      (await send(server, keysUrl, { headers: { 'x-api-key': apiKey } })).status
    for (const _time of [1, 2, 3]) expect(await status()).toBe(200)
    clock.advance(50_000)
    expect(await status()).toBe(200)
    clock.advance(10_000)
    expect(await status()).toBe(401)
    clock.advance(-60_000)
    expect([await status(), await status()]).toEqual([200, 200])
    await other.send('PATCH', `/v1/api-keys/${id}`, { body: { active: false } })
    expect(await status()).toBe(401)
  })

  test('once another process has changed a key; the key set for at most half a second more', async () => {
    const active = async (url: string) => {
      await send(server, url)
      return (await send(server, url)).body.includes(kid)
    }
    expect([await active(`${keysUrl}?active=true`), await active(jwksUrl)]).toEqual([true, true])
    await patchKeyInStore(server, server.project.id, kid, { active: false })
    expect(await active(`${keysUrl}?active=true`)).toBe(false)
    clock.advance(500)
    expect(await active(jwksUrl)).toBe(false)
    await patchKey(server, kid, { active: true })
    expect([await active(`${keysUrl}?active=true`), await active(jwksUrl)]).toEqual([true, true])
  })

  test('when a key of it expires, to the millisecond, also if the clock is set back', async () => {
    const { keys } = await newProject(server, 'expiring')
    const expireTime = new Date(clock.now() + 60_000).toISOString()
    const url = `${keys}/${await registerKey(server, { expireTime }, keys)}`
    const shown = async () => {
      await send(server, url)
      const urls = [url, keys, `${keys}?active=true`]
      const answers = await Promise.all(urls.map((each) => send(server, each)))
      const [one, [all], active] = answers.map(({ body }) => JSON.parse(body))
      return [one.active, all.active, active.length]
    }
    for (const [ms, isActive] of [
      [0, true],
      [59_999, true],
      [1, false],
      [-60_000, true],
    ] as const) {
      clock.advance(ms)
      for (const _time of [1, 2])
        expect(await shown()).toEqual([isActive, isActive, Number(isActive)])
    }
  })

  test('under a name that another process took from its project', async () => {
    const { keys, jwks } = await newProject(server, 'early-name')
    for (const url of [keys, jwks, keys, jwks]) expect((await send(server, url)).status).toBe(200)
    await other.send('PATCH', '/v1/projects/early-name', { body: { name: 'late-name' } })
    expect((await send(server, keys)).status).toBe(404)
    clock.advance(500)
    expect((await send(server, jwks)).status).toBe(404)
  })

  test('with an outdated max-age, which falls every second before a key expires', async () => {
    const { keys, jwks } = await newProject(server, 'short-lived')
    await registerKey(server, { expireTime: new Date(clock.now() + 62_000).toISOString() }, keys)
    const maxAge = async () => (await send(server, jwks)).headers['cache-control']
    expect(await maxAge()).toBe('public, max-age=60')
    clock.advance(2_400)
    expect(await maxAge()).toBe('public, max-age=59')
    expect(await maxAge()).toBe('public, max-age=59')
    clock.advance(601)
    expect(await maxAge()).toBe('public, max-age=58')
  })
})

test('cached responses are logged, counted and recorded as uses of the API key like all others', async () => {
  const lines: string[] = []
  const logStream = { write: (line: string) => void lines.push(line) }
  const busy = await startApp({ http: { metrics: true, logLevel: 'info', logStream } })
  const body = { name: 'n', role: 'reader' }
  const { id, apiKey } = (await busy.send('POST', '/v1/api-keys', { body })).json()
  const read = (url: string) => busy.inject({ url, headers: { 'x-api-key': apiKey } })
  for (const url of [keysUrl, keysUrl, keysUrl, jwksUrl, jwksUrl, jwksUrl]) await read(url)
  const entries = lines.map((line) => JSON.parse(line)).filter(({ method }) => method === 'GET')
  const steady = entries.map(({ requestId: _id, time: _time, ms, ...rest }) => {
    expect(ms).toBeGreaterThanOrEqual(0)
    return rest
  })
  expect(steady).toHaveLength(6)
  expect(steady[2]).toEqual(steady[1])
  expect(steady[5]).toMatchObject({ route: expect.stringContaining('jwks.json'), status: 200 })
  expect(new Set(entries.map(({ requestId }) => requestId)).size).toBe(6)
  const metrics = await busy.app.metrics?.metrics()
  const route = '/v1/projects/:projectIdOrName/jwt-keys'
  expect(metrics).toContain(
    `pubring_http_requests_total{method="GET",route="${route}",status="200",code=""} 3`,
  )
  expect(metrics).toContain('pubring_published_total{status="200"} 3')
  await busy.app.authenticator.flush()
  const first = (await busy.send('GET', `/v1/api-keys/${id}`)).json().lastUseTime
  await read(keysUrl)
  await busy.app.authenticator.flush()
  const second = (await busy.send('GET', `/v1/api-keys/${id}`)).json().lastUseTime
  expect(second > first).toBe(true)
})

test('with rate limits, every request goes to the routes and counts', async () => {
  const rate = { limit: 3, window: 60 }
  const limited = await startApp({ http: { rateLimit: rate, publicRateLimit: rate } })
  for (const url of [keysUrl, jwksUrl]) {
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      statuses.push((await limited.send('GET', url)).statusCode)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  }
})
