import { createHmac } from 'node:crypto'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { pageHeaders, publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { createBrowser } from '../../support/sign-in/browser.ts'
import {
  clientId,
  clientSecret,
  startProvider,
  type TestProvider,
} from '../../support/sign-in/provider.ts'

const limit = 2
const attemptName = '__Secure-pubring-sign-in'

let provider: TestProvider
let server: TestApp
let lines: string[]

beforeAll(async () => {
  provider = await startProvider(`${publicUrl}/sign-in/callback`)
  provider.person = { subject: 'ada', claims: { groups: ['platform'] } }
})
const start = async (failures: number) => {
  lines = []
  const { issuer } = provider
  const oidc = { issuer, clientId, clientSecret, scopes: 'openid profile email groups' }
  server = await startApp({
    fetch: provider.server.fetchWith(),
    config: { oidc },
    http: {
      authFailureLimit: { limit: failures, window: 60 },
      logLevel: 'info',
      logStream: { write: (line) => void lines.push(line) },
    },
  })
  const rule = { for: 'people', name: 'n', conditions: { groups: 'platform' }, role: 'admin' }
  await server.send('POST', '/v1/access-rules', { body: { ...rule, allProjects: true } })
}
beforeEach(() => start(limit))
afterEach(() => {
  provider.intercept = undefined
})

const redemptions = () => provider.server.requests.filter((line) => /\/token\b/.test(line)).length

const warnings = () =>
  lines.map((line) => JSON.parse(line)).filter(({ level }: { level: number }) => level === 40)

test('a cookie that somebody made has the provider asked for nothing', async () => {
  const before = redemptions()
  const secret = 'A'.repeat(43)
  const cookie = `${secret}.${Date.now()}.0.`
  const full = `${cookie}${Buffer.from('/console/').toString('base64url')}`
  const state = createHmac('sha256', secret).update(`state ${full}`).digest('base64url')
  const url = `/sign-in/callback?code=x&state=${state}&iss=${encodeURIComponent(provider.issuer)}`
  const answer = await server.inject({ url, headers: { cookie: `${attemptName}=${full}` } })
  expect([answer.statusCode, redemptions() - before]).toEqual([400, 0])
})

test('the provider is asked for no more codes that fail than the limit allows', async () => {
  const browser = createBrowser(provider, server)
  const url = new URL(await browser.authorize())
  url.searchParams.set('code', 'x')
  const before = redemptions()
  const statuses: number[] = []
  for (let n = 0; n < 4 * limit; n += 1) statuses.push((await browser.visit(url.href)).statusCode)
  expect(statuses).toEqual([...Array(limit).fill(400), ...Array(3 * limit).fill(429)])
  expect(redemptions() - before).toBe(limit)
  const refused = await browser.visit(url.href)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
  expect(refused.headers['content-type']).toMatch(/^text\/html/)
})

test('a person adds ten private keys a minute to a ledger, however often they sign in', async () => {
  const project = async () => (await server.send('GET', '/v1/projects/payments')).json()
  const { revision } = await project()
  for (let session = 0; session < 2; session += 1) {
    const browser = createBrowser(provider, server)
    await browser.signIn()
    const jar = browser.cookies.get(new URL(publicUrl).host)
    const headers = pageHeaders(jar?.get('__Secure-pubring-session'))
    for (let count = 0; count < 6; count += 1) {
      const body = { name: 'n', algorithm: 'ES256', publicKeyPem: privatePem(ecKey()) }
      const url = '/v1/projects/payments/jwt-keys'
      const refused = await server.send('POST', url, { body, headers })
      expect(refused.json().code).toBe('private_key_submitted')
    }
  }
  expect((await project()).revision).toBe(revision + 10)
})

test('forged callbacks use up nothing, and are one line of the log; nor do sign-ins and API keys', async () => {
  const browser = createBrowser(provider, server)
  const url = await browser.authorize()
  for (let n = 0; n < 2 * limit; n += 1) {
    expect((await server.inject('/sign-in/callback?code=x&state=x')).statusCode).toBe(400)
    const other = await browser.visit(`${publicUrl}/sign-in/callback?code=x&state=x`)
    expect(other.statusCode).toBe(400)
  }
  for (let n = 0; n < 2 * limit; n += 1) {
    await server.send('GET', '/v1/self', { headers: { 'x-api-key': 'x' } })
    expect((await createBrowser(provider, server).signIn()).statusCode).toBe(302)
  }
  expect((await browser.visit(url)).statusCode).toBe(302)
  expect(warnings()).toHaveLength(1)
})

test('sign-ins that end at a provider which cannot be reached use up nothing', async () => {
  const browser = createBrowser(provider, server)
  const url = await browser.authorize()
  provider.intercept = (path, _request, response) => {
    if (path === '/token') response.destroy()
    return path === '/token'
  }
  for (let n = 0; n < 2 * limit; n += 1) expect((await browser.visit(url)).statusCode).toBe(503)
  provider.intercept = undefined
  expect((await browser.visit(url)).statusCode).toBe(302)
})

test('a few sign-ins from one address are finished at a time', async () => {
  await start(100)
  const browsers = Array.from({ length: 12 }, () => createBrowser(provider, server))
  const urls: string[] = []
  for (const browser of browsers) urls.push(await browser.authorize())
  const held: (() => void)[] = []
  provider.intercept = (path, _request, response) => {
    if (path === '/token') held.push(() => response.writeHead(400).end())
    return path === '/token'
  }
  const visits = browsers.map((browser, index) => browser.visit(urls[index] ?? ''))
  await expect.poll(() => held.length).toBe(8)
  const refused = (await Promise.race(visits)).statusCode
  for (const answer of held) answer()
  const statuses = (await Promise.all(visits)).map(({ statusCode }) => statusCode)
  expect([refused, statuses.filter((status) => status === 429).length]).toEqual([429, 4])
})

test('no page of a sign-in lets a browser repeat its address elsewhere, or come without TLS', async () => {
  const pages = ['', '/callback?code=c&state=s', '/cli?port=1', '/cli']
  for (const path of pages) {
    const { headers } = await server.inject(`/sign-in${path}`)
    expect(headers, path).toMatchObject({
      'referrer-policy': 'no-referrer',
      'strict-transport-security': expect.stringContaining('max-age'),
      'x-frame-options': 'DENY',
    })
  }
})

test('logout tokens that are none are one line of the log, and limited', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 3 * limit; n += 1) {
    const answer = await server.inject({
      method: 'POST',
      url: '/sign-in/back-channel-logout',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'logout_token=x.y.z',
    })
    statuses.push(answer.statusCode)
  }
  expect(statuses).toEqual([...Array(limit).fill(400), ...Array(2 * limit).fill(429)])
  const [line, ...rest] = warnings()
  expect(rest).toEqual([])
  expect(line).toMatchObject({ code: 'sign_in_failed', cause: expect.any(String) })
  expect(JSON.stringify(line).length).toBeLessThan(500)
})
