import { describe, expect, test, vi } from 'vitest'
import type { HttpOptions } from '../../../packages/server/src/kernel/http/options.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { openTestStore } from '../../support/store/store.ts'

let server: TestApp
const stored = await openTestStore()

const list = '/v1/projects/payments/jwt-keys'
const jwks = '/v1/projects/payments/.well-known/jwks.json'

async function start(http: Partial<HttpOptions>): Promise<void> {
  server = await startApp({ http, stored })
}
const perMinute = (limit: number) => ({ limit, window: 60 })
const as = (secret: string, url = list) =>
  server.send('GET', url, { headers: { 'x-api-key': secret } })
const statuses = async (count: number, send: () => ReturnType<TestApp['send']>) => {
  const all: number[] = []
  for (let n = 0; n < count; n += 1) all.push((await send()).statusCode)
  return all
}

describe('the limit per API key', () => {
  test('is off by default', async () => {
    await start({})
    const answer = await as(server.admin)
    expect(answer.headers).not.toHaveProperty('ratelimit')
  })

  test('responds 429 with problem details and Retry-After; earlier responses say what is left', async () => {
    await start({ rateLimit: perMinute(3) })
    const answers = [await as(server.admin), await as(server.admin), await as(server.admin)]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200])
    expect(answers[0]?.headers['ratelimit-policy']).toBe('"api-key";q=3;w=60')
    expect(answers[0]?.headers.ratelimit).toMatch(/^"api-key";r=2;t=(60|59)$/)
    const refused = await as(server.admin)
    expect(refused.statusCode).toBe(429)
    expect(refused.json()).toMatchObject({ code: 'rate_limited', status: 429 })
    expect(refused.headers['content-type']).toBe('application/problem+json')
    expect(refused.headers.ratelimit).toMatch(/^"api-key";r=0;t=\d+$/)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  })

  test('resets after its window', async () => {
    await start({ rateLimit: { limit: 1, window: 1 } })
    expect(await statuses(2, () => as(server.admin))).toEqual([200, 429])
    await expect.poll(async () => (await as(server.admin)).statusCode).toBe(200)
  })

  test('is neither renewed nor extended when the clock is set forward and back', async () => {
    await start({ rateLimit: perMinute(1) })
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      expect(await statuses(2, () => as(server.admin))).toEqual([200, 429])
      for (const hours of [2, -2]) {
        vi.setSystemTime(Date.now() + hours * 3_600_000)
        const refused = await as(server.admin)
        expect(refused.statusCode, `${hours} h`).toBe(429)
        expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
      }
    } finally {
      vi.useRealTimers()
    }
  })

  test('applies to each API key separately', async () => {
    await start({ rateLimit: perMinute(2) })
    const other = await server.apiKey('reader')
    expect(await statuses(3, () => as(server.admin))).toEqual([200, 200, 429])
    expect(await statuses(3, () => as(other))).toEqual([200, 200, 429])
  })

  test('counts errors too, and is checked before 404 and 403', async () => {
    await start({ rateLimit: perMinute(2) })
    const reader = await server.apiKey('reader', server.project.id)
    expect(await statuses(3, () => as(reader, '/v1/projects/none'))).toEqual([404, 404, 429])
    expect((await as(reader, '/v1/events')).statusCode).toBe(429)
  })

  test('does not apply to public operations', async () => {
    await start({ rateLimit: perMinute(1) })
    expect(await statuses(5, () => server.send('GET', jwks))).toEqual(Array(5).fill(200))
  })

  test('is not used up by requests without a valid API key', async () => {
    await start({ rateLimit: perMinute(1), publicRateLimit: perMinute(1) })
    for (const secret of ['', 'x', `${server.admin.slice(0, -1)}-`]) {
      expect(await statuses(20, () => as(secret))).toEqual(Array(20).fill(401))
    }
    expect((await as(server.admin)).statusCode).toBe(200)
    expect((await server.inject(jwks)).statusCode).toBe(200)
  })

  test('counts registering and checking a key as five requests', async () => {
    await start({ rateLimit: perMinute(12) })
    const { publicKeyPem } = ecKey()
    const check = () => server.send('POST', '/v1/key-checks', { body: { publicKeyPem } })
    const create = () =>
      server.send('POST', list, { body: { name: 'n', algorithm: 'ES256', publicKeyPem } })
    expect((await check()).headers.ratelimit).toMatch(/;r=7;/)
    expect((await create()).headers.ratelimit).toMatch(/;r=2;/)
    expect((await check()).statusCode).toBe(429)
  })

  test('lower than such a cost permits one of them', async () => {
    await start({ rateLimit: perMinute(3) })
    const body = { publicKeyPem: ecKey().publicKeyPem }
    expect(await statuses(2, () => server.send('POST', '/v1/key-checks', { body }))).toEqual([
      200, 429,
    ])
  })
})

describe('the limit of changes', () => {
  const register = () => {
    const { publicKeyPem } = ecKey()
    return server.send('POST', list, { body: { name: 'n', algorithm: 'ES256', publicKeyPem } })
  }
  const importKeys = (count: number) => {
    const keys = Array.from({ length: count }, () => {
      return { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    })
    const url = '/v1/projects/payments/key-imports'
    return server.send('POST', url, { body: { keys } })
  }

  test('responds 429 to further changes by the API key, and to nothing else', async () => {
    await start({ writeLimit: perMinute(3) })
    const kid: string = (await register()).json().kid
    const rename = () => server.send('PATCH', `${list}/${kid}`, { body: { label: 'l' } })
    const remove = () => server.send('DELETE', `${list}/${kid}`)
    expect((await rename()).headers.ratelimit).toMatch(/^"changes";r=1;t=/)
    expect((await remove()).statusCode).toBe(409)
    const refused = await remove()
    expect(refused.statusCode).toBe(429)
    expect(refused.json().code).toBe('rate_limited')
    expect(refused.headers['ratelimit-policy']).toBe('"changes";q=3;w=60')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
    const body = { publicKeyPem: ecKey().publicKeyPem }
    expect((await server.send('POST', '/v1/key-checks', { body })).statusCode).toBe(200)
    expect((await as(server.admin)).statusCode).toBe(200)
    const other = { 'x-api-key': await server.apiKey('writer') }
    const byOther = await server.send('PATCH', `${list}/${kid}`, { body: {}, headers: other })
    expect(byOther.statusCode).toBe(200)
  })

  test('is not used up by requests that are invalid, unknown or not permitted', async () => {
    await start({ writeLimit: perMinute(1) })
    const headers = { 'x-api-key': await server.apiKey('reader') }
    const body = { name: 'p' }
    expect((await server.send('POST', '/v1/projects', { body, headers })).statusCode).toBe(403)
    expect((await server.send('POST', '/v1/projects', { body: {} })).statusCode).toBe(400)
    expect((await server.send('DELETE', '/v1/projects/none')).statusCode).toBe(404)
    expect((await register()).statusCode).toBe(201)
    expect((await register()).statusCode).toBe(429)
  })

  test('counts an import as one for each key', async () => {
    await start({ writeLimit: perMinute(10) })
    expect((await importKeys(6)).headers.ratelimit).toMatch(/;r=4;/)
    expect((await importKeys(6)).statusCode).toBe(429)
  })

  test('is stated beside the limit of requests', async () => {
    await start({ writeLimit: perMinute(10), rateLimit: perMinute(20) })
    const { headers } = await register()
    expect(headers['ratelimit-policy']).toBe('"api-key";q=20;w=60, "changes";q=10;w=60')
    expect(headers.ratelimit).toMatch(/^"api-key";r=15;t=\d+, "changes";r=9;t=\d+$/)
  })
})

describe('the limit without an API key', () => {
  const from = (ip: string, url = jwks) => server.inject({ url, remoteAddress: ip })

  test('applies to each client address separately, with a 429 that all origins may read', async () => {
    await start({ publicRateLimit: perMinute(2) })
    expect(await statuses(3, () => from('192.0.2.1'))).toEqual([200, 200, 429])
    const refused = await from('192.0.2.1')
    expect(refused.json().code).toBe('rate_limited')
    expect(refused.headers['access-control-allow-origin']).toBe('*')
    expect(refused.headers['ratelimit-policy']).toBe('"public";q=2;w=60')
    expect((await from('192.0.2.2')).statusCode).toBe(200)
  })

  test('is shared by a /64 of IPv6, and by both spellings of an IPv4 address', async () => {
    await start({ publicRateLimit: perMinute(1) })
    expect((await from('2001:db8::1')).statusCode).toBe(200)
    expect((await from('2001:db8::ffff:2')).statusCode).toBe(429)
    expect((await from('2001:db8:0:1::1')).statusCode).toBe(200)
    expect((await from('::ffff:192.0.2.7')).statusCode).toBe(200)
    expect((await from('192.0.2.7')).statusCode).toBe(429)
    expect((await from('fe80::1%eth0')).statusCode).toBe(200)
  })

  test('applies to all public documents, and not to health checks', async () => {
    await start({ publicRateLimit: perMinute(1) })
    expect((await from('192.0.2.1', '/openapi.json')).statusCode).toBe(200)
    expect((await from('192.0.2.1', '/docs/errors')).statusCode).toBe(429)
    expect(await statuses(9, () => from('192.0.2.1', '/health/live'))).toEqual(Array(9).fill(200))
    expect(await statuses(9, () => from('192.0.2.1', '/health/ready'))).toEqual(Array(9).fill(200))
  })

  test('is not used up by requests with an API key', async () => {
    await start({ publicRateLimit: perMinute(1) })
    await statuses(5, () => as(server.admin))
    expect((await server.inject(jwks)).statusCode).toBe(200)
  })
})

describe('the client address', () => {
  const through = (peer: string, forwarded: string) =>
    server.inject({
      url: jwks,
      remoteAddress: peer,
      headers: { 'x-forwarded-for': forwarded },
    })

  test('is the peer’s if no proxy is trusted, with any X-Forwarded-For', async () => {
    await start({ publicRateLimit: perMinute(1) })
    expect((await through('192.0.2.1', '198.51.100.1')).statusCode).toBe(200)
    expect((await through('192.0.2.1', '198.51.100.2')).statusCode).toBe(429)
  })

  test('is the last entry behind one proxy, after any text of the client', async () => {
    await start({ publicRateLimit: perMinute(1), trustProxy: true })
    expect((await through('10.0.0.1', '198.51.100.1')).statusCode).toBe(200)
    expect((await through('10.0.0.1', '203.0.113.9, 198.51.100.1')).statusCode).toBe(429)
    expect((await through('10.0.0.1', '198.51.100.1, 198.51.100.2')).statusCode).toBe(200)
  })

  test('is the last entry outside the listed networks', async () => {
    await start({ publicRateLimit: perMinute(1), trustProxy: ['10.0.0.0/8'] })
    expect((await through('10.0.0.1', '198.51.100.1, 10.1.1.1')).statusCode).toBe(200)
    expect((await through('10.0.0.2', '203.0.113.9, 198.51.100.1')).statusCode).toBe(429)
    expect((await through('192.0.2.1', '198.51.100.7')).statusCode).toBe(200)
    expect((await through('192.0.2.1', '198.51.100.8')).statusCode).toBe(429)
  })

  test('is one shared address for all that have none', async () => {
    await start({ publicRateLimit: perMinute(1), trustProxy: true })
    expect((await through('10.0.0.1', 'unknown')).statusCode).toBe(200)
    expect((await through('10.0.0.1', 'x'.repeat(9_000))).statusCode).toBe(429)
  })
})
