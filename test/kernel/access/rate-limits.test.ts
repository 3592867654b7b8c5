import { type FastifyRequest, fastify } from 'fastify'
import { beforeEach, describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { createLimit } from '../../../packages/server/src/kernel/http/hooks/rate-limits.ts'
import { startApp } from '../../support/app/app.ts'
import { jwksUrl, keysUrl } from '../../support/app/keys.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { openTestStore } from '../../support/store/store.ts'

const perMinute = (limit: number) => ({ limit, window: 60 })
let [time, monotonic] = [Date.now(), 0]
const clock = { now: () => time, monotonic: () => monotonic }
const stored = await openTestStore()
const server = await startApp({
  stored,
  clock,
  http: {
    rateLimit: perMinute(12),
    publicRateLimit: perMinute(2),
    authFailureLimit: perMinute(10),
    trustProxy: ['10.0.0.0/8'],
  },
})
beforeEach(() => {
  monotonic += 60_000
})

const get = (secret: string, remoteAddress = '192.0.2.1', url = keysUrl, forwarded = '') =>
  server.inject({
    url,
    remoteAddress,
    headers: { 'x-api-key': secret, ...(forwarded && { 'x-forwarded-for': forwarded }) },
  })
const statuses = async (count: number, send: () => Promise<{ statusCode: number }>) => {
  const all: number[] = []
  for (let n = 0; n < count; n += 1) all.push((await send()).statusCode)
  return all
}
const times = (count: number, status: number): number[] => Array(count).fill(status)

describe('the limit per API key', () => {
  test('responds 429 with problem details and Retry-After; earlier responses say what is left', async () => {
    const first = await get(server.admin)
    expect(first.headers['ratelimit-policy']).toBe('"api-key";q=12;w=60')
    expect(first.headers.ratelimit).toBe('"api-key";r=11;t=60')
    monotonic += 20_500
    expect(await statuses(12, () => get(server.admin))).toEqual([...times(11, 200), 429])
    const refused = await get(server.admin)
    expect(refused.json()).toMatchObject({ code: 'rate_limited', status: 429 })
    expect(refused.headers['content-type']).toBe('application/problem+json')
    expect(refused.headers).toMatchObject({ ratelimit: '"api-key";r=0;t=40', 'retry-after': '40' })
    expect((await get(await server.apiKey('reader'))).statusCode).toBe(200)
    // A clock that is set forward or back renews and extends nothing.
    for (const hours of [2, -2]) {
      time += hours * 3_600_000
      expect((await get(server.admin)).headers['retry-after']).toBe('40')
    }
    monotonic += 39_500
    expect((await get(server.admin)).statusCode).toBe(200)
  })

  test('counts errors too, and is checked before 404 and 403', async () => {
    const reader = await server.apiKey('reader', server.project.id)
    const absent = () => get(reader, '192.0.2.1', '/v1/projects/none')
    expect(await statuses(13, absent)).toEqual([...times(12, 404), 429])
    expect((await get(reader, '192.0.2.1', '/v1/events')).statusCode).toBe(429)
  })

  test('is neither that of public operations nor used up without a valid API key', async () => {
    for (const secret of ['', 'x', `${server.admin.slice(0, -1)}-`]) {
      expect(await statuses(5, () => get(secret))).toEqual(times(5, 401))
    }
    expect((await get(server.admin)).headers.ratelimit).toContain('r=11;')
    expect((await get(server.admin, '192.0.2.1', jwksUrl)).statusCode).toBe(200)
    expect((await get(server.admin)).headers.ratelimit).toContain('r=10;')
  })

  test('counts registering and checking a key as five requests', async () => {
    const { publicKeyPem } = ecKey()
    const check = () => server.send('POST', '/v1/key-checks', { body: { publicKeyPem } })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem }
    expect((await check()).headers.ratelimit).toMatch(/;r=7;/)
    expect((await server.send('POST', keysUrl, { body })).headers.ratelimit).toMatch(/;r=2;/)
    expect((await check()).statusCode).toBe(429)
  })

  test('has windows of full length at any time, and permits one call that costs more', async () => {
    let milliseconds = 0
    const own = { now: Date.now, monotonic: () => milliseconds }
    const spend = createLimit(own, { name: 'n', rate: perMinute(3), reason: 'r' })
    const app = fastify()
    app.get('/:time', async (request: FastifyRequest<{ Params: { time: string } }>, reply) => {
      milliseconds = Number(request.params.time)
      spend('caller', reply, 5)
      return ''
    })
    for (let at = 1_000.1; at < 1e7; at += 60_000.7) {
      const { headers, statusCode } = await app.inject({ url: `/${at}` })
      expect([statusCode, headers.ratelimit]).toEqual([200, '"n";r=0;t=60'])
    }
    expect((await app.inject({ url: `/${milliseconds}` })).statusCode).toBe(500)
    await app.close()
  })
})

describe('the limit without an API key', () => {
  const from = (ip: string, url = jwksUrl) => get('', ip, url)

  test('applies to each client address separately, with a 429 that all origins may read', async () => {
    expect(await statuses(3, () => from('192.0.2.1'))).toEqual([200, 200, 429])
    const refused = await from('192.0.2.1')
    expect(refused.json().code).toBe('rate_limited')
    expect(refused.headers['access-control-allow-origin']).toBe('*')
    expect(refused.headers['ratelimit-policy']).toBe('"public";q=2;w=60')
    expect((await from('192.0.2.2')).statusCode).toBe(200)
  })

  test('is shared by a /64 of IPv6, and by both spellings of an IPv4 address', async () => {
    expect(await statuses(2, () => from('2001:db8::1'))).toEqual([200, 200])
    expect((await from('2001:db8::ffff:2')).statusCode).toBe(429)
    expect((await from('2001:db8:0:1::1')).statusCode).toBe(200)
    expect(await statuses(2, () => from('::ffff:192.0.2.7'))).toEqual([200, 200])
    expect((await from('192.0.2.7')).statusCode).toBe(429)
    expect((await from('fe80::1%eth0')).statusCode).toBe(200)
  })

  test('applies to all public documents, and not to health checks', async () => {
    expect((await from('192.0.2.1', '/openapi.json')).statusCode).toBe(200)
    expect((await from('192.0.2.1', jwksUrl)).statusCode).toBe(200)
    expect((await from('192.0.2.1', '/docs/errors')).statusCode).toBe(429)
    for (const url of ['/health/live', '/health/ready']) {
      expect(await statuses(9, () => from('192.0.2.1', url))).toEqual(times(9, 200))
    }
  })
})

describe('the limit of failures', () => {
  const wrong = () => rememberSecret('an API key', newApiKeySecret())
  const fail = (count: number, address: string, forwarded?: string) =>
    statuses(count, () => get(wrong(), address, keysUrl, forwarded))

  test('makes wrong API keys of one address 429, and neither a valid one nor a public operation', async () => {
    const address = '192.0.2.1'
    expect(await fail(40, address)).toEqual([...times(10, 401), ...times(30, 429)])
    const refused = await get(wrong(), address)
    expect(refused.json()).toMatchObject({ code: 'rate_limited', status: 429 })
    expect(refused.headers['ratelimit-policy']).toBe('"failures";q=10;w=60')
    expect(refused.headers['retry-after']).toBe('60')
    // A new API key too, which no cache holds.
    for (const secret of [server.admin, await server.apiKey('reader')]) {
      expect(await statuses(3, () => get(secret, address))).toEqual([200, 200, 200])
    }
    expect((await get('', address, jwksUrl)).statusCode).toBe(200)
  })

  test('counts revoked, expired and misspelled API keys, but not a missing one', async () => {
    const { id, apiKey: revoked } = (
      await server.send('POST', '/v1/api-keys', { body: { name: 'n', role: 'reader' } })
    ).json()
    await server.send('DELETE', `/v1/api-keys/${id}`)
    const expired = await server.apiKey('reader', undefined, '2020-01-01T00:00:00.000Z')
    for (const secret of [revoked, expired, '']) {
      expect(await statuses(5, () => get(secret))).toEqual(times(5, 401))
    }
    for (const secret of [revoked, expired, 'x', `${server.admin.slice(0, -1)}-`]) {
      expect((await get(secret)).statusCode).toBe(429)
    }
    expect((await get('')).statusCode).toBe(401)
  })

  test('counts per address, behind a trusted proxy per client', async () => {
    expect((await fail(11, '10.0.0.1', '198.51.100.1')).at(-1)).toBe(429)
    expect(await fail(1, '10.0.0.1', '198.51.100.2')).toEqual([401])
    expect((await fail(11, '2001:db8::1')).at(-1)).toBe(429)
    expect(await fail(1, '2001:db8::2')).toEqual([429])
    expect(await fail(1, '2001:db8:0:1::1')).toEqual([401])
  })
})

type Through = [peer: string, forwarded: string, status: number]
test.each<[string, boolean | string[], Through[]]>([
  [
    'the peer’s if no proxy is trusted, with any X-Forwarded-For',
    false,
    [
      ['192.0.2.1', '198.51.100.1', 200],
      ['192.0.2.1', '198.51.100.2', 429],
    ],
  ],
  [
    'the last entry behind one proxy, after any text of the client, and one for all that have none',
    true,
    [
      ['10.0.0.1', '198.51.100.1', 200],
      ['10.0.0.1', '203.0.113.9, 198.51.100.1', 429],
      ['10.0.0.1', '198.51.100.1, 198.51.100.2', 200],
      ['10.0.0.1', 'unknown', 200],
      ['10.0.0.1', 'x'.repeat(9_000), 429],
    ],
  ],
  [
    'the last entry outside the listed networks',
    ['10.0.0.0/8'],
    [
      ['10.0.0.1', '198.51.100.1, 10.1.1.1', 200],
      ['10.0.0.2', '203.0.113.9, 198.51.100.1', 429],
      ['192.0.2.1', '198.51.100.7', 200],
      ['192.0.2.1', '198.51.100.8', 429],
    ],
  ],
])('the client address is %s', async (_rule, trustProxy, requests) => {
  const one = await startApp({ stored, http: { publicRateLimit: perMinute(1), trustProxy } })
  for (const [remoteAddress, forwarded, status] of requests) {
    const headers = { 'x-forwarded-for': forwarded }
    const answer = await one.inject({ url: jwksUrl, remoteAddress, headers })
    expect([forwarded, answer.statusCode]).toEqual([forwarded, status])
  }
})
