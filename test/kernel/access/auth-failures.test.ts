import { beforeAll, expect, test } from 'vitest'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { rememberSecret } from '../../support/secrets.ts'

let server: TestApp
beforeAll(async () => {
  const http = { authFailureLimit: { limit: 10, window: 60 }, trustProxy: ['10.0.0.0/8'] }
  server = await startApp({ http })
})

const url = '/v1/projects/payments/jwt-keys'
const send = (secret: string, remoteAddress: string, headers: Record<string, string> = {}) =>
  server.inject({ url, remoteAddress, headers: { 'x-api-key': secret, ...headers } })
const wrong = () => rememberSecret('an API key', newApiKeySecret())

async function fail(count: number, remoteAddress: string, headers?: Record<string, string>) {
  const statuses: number[] = []
  for (let n = 0; n < count; n += 1) {
    statuses.push((await send(wrong(), remoteAddress, headers)).statusCode)
  }
  return statuses
}

test('300 wrong API keys from one address are 429 after the limit, and a valid one is 200 throughout', async () => {
  const address = '192.0.2.1'
  expect(await fail(10, address)).toEqual(Array(10).fill(401))
  expect(await fail(290, address)).toEqual(Array(290).fill(429))
  const refused = await send(wrong(), address)
  expect(refused.json()).toMatchObject({ code: 'rate_limited', status: 429 })
  expect(refused.headers['ratelimit-policy']).toBe('"failures";q=10;w=60')
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
  // A new API key too, which no cache holds.
  for (const secret of [server.admin, await server.apiKey('reader')]) {
    for (let n = 0; n < 3; n += 1) expect((await send(secret, address)).statusCode).toBe(200)
  }
})

test('revoked, expired and misspelled API keys count too, but not a missing one', async () => {
  const address = '192.0.2.2'
  const revoked = await server.apiKey('reader')
  const self = { headers: { 'x-api-key': revoked } }
  const { id } = (await server.send('GET', '/v1/api-keys/self', self)).json()
  await server.send('DELETE', `/v1/api-keys/${id}`)
  const expired = await server.apiKey('reader', undefined, '2020-01-01T00:00:00.000Z')
  for (let n = 0; n < 5; n += 1) {
    expect((await send(revoked, address)).statusCode).toBe(401)
    expect((await send(expired, address)).statusCode).toBe(401)
    expect((await server.inject({ url, remoteAddress: address })).statusCode).toBe(401)
  }
  for (const secret of [revoked, expired, 'x', `${server.admin.slice(0, -1)}-`]) {
    expect((await send(secret, address)).statusCode).toBe(429)
  }
  expect((await server.inject({ url, remoteAddress: address })).statusCode).toBe(401)
})

test('failures count per address, behind a trusted proxy per client', async () => {
  expect((await fail(11, '192.0.2.3')).at(-1)).toBe(429)
  expect(await fail(1, '192.0.2.4')).toEqual([401])
  const client = (address: string) => ({ 'x-forwarded-for': address })
  expect((await fail(11, '10.0.0.1', client('198.51.100.1'))).at(-1)).toBe(429)
  expect(await fail(1, '10.0.0.1', client('198.51.100.2'))).toEqual([401])
  expect((await fail(11, '2001:db8::1')).at(-1)).toBe(429)
  expect(await fail(1, '2001:db8::2')).toEqual([429])
  expect(await fail(1, '2001:db8:0:1::1')).toEqual([401])
})

test('failures use up no budget of the public operations', async () => {
  await fail(11, '192.0.2.5')
  const jwks = '/v1/projects/payments/.well-known/jwks.json'
  expect((await server.inject({ url: jwks, remoteAddress: '192.0.2.5' })).statusCode).toBe(200)
})
