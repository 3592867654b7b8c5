import { createPublicKey } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signInOf } from '../../../packages/server/src/features/sign-in/sign-in.ts'
import { pageHeaders, publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey, edKey, rsaKey } from '../../support/keys/pem.ts'
import { createBrowser, type TestBrowser } from '../../support/sign-in/browser.ts'
import {
  clientId,
  clientSecret,
  startProvider,
  type TestProvider,
} from '../../support/sign-in/provider.ts'

const callback = `${publicUrl}/sign-in/callback`
const host = new URL(publicUrl).host
const sessionName = '__Secure-pubring-session'
const attemptName = '__Secure-pubring-sign-in'

let provider: TestProvider
let server: TestApp
let replica: TestApp
let rule: { id: string }

const configOf = ({ issuer }: TestProvider, members: object = { clientSecret }) => ({
  oidc: { issuer, clientId, scopes: 'openid profile email groups', ...members },
})

beforeAll(async () => {
  provider = await startProvider(callback)
  const options = { fetch: provider.server.fetchWith(), config: configOf(provider) }
  server = await startApp(options)
  replica = await startApp({ ...options, database: server.database })
  rule = await createRule({ groups: 'platform' }, 'admin')
})
beforeEach(() => {
  provider.intercept = undefined
  provider.person = {
    subject: 'ada',
    claims: {
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      email_verified: true,
      groups: ['staff', 'platform'],
    },
  }
})

const people = { for: 'people', name: 'n', allProjects: true }

async function createRule(conditions: object, role: string) {
  const answer = await server.send('POST', '/v1/access-rules', {
    body: { ...people, conditions, role },
  })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}

const secretOf = ({ cookies }: TestBrowser) => cookies.get(host)?.get(sessionName) ?? ''
const asPerson = (browser: TestBrowser) => pageHeaders(secretOf(browser))

async function signedIn(...servers: TestApp[]): Promise<TestBrowser> {
  const browser = createBrowser(provider, ...(servers.length === 0 ? [server] : servers))
  const answer = await browser.signIn()
  expect(answer.statusCode, answer.body).toBe(302)
  return browser
}

async function statusOf(browser: TestBrowser, app = server) {
  const answer = await app.send('GET', '/v1/self', { headers: asPerson(browser) })
  return answer.statusCode
}

describe('signing in through the provider', () => {
  test('gives a session with the roles of the rules, under the name of the person', async () => {
    const browser = await signedIn()
    const self = await server.send('GET', '/v1/self', { headers: asPerson(browser) })
    expect(self.json()).toMatchObject({
      type: 'person',
      name: 'Ada Lovelace',
      person: { issuer: provider.issuer, subject: 'ada', email: 'ada@example.com' },
      grants: [{ role: 'admin' }],
    })
    const made = await server.send('POST', '/v1/projects', {
      headers: asPerson(browser),
      body: { name: 'by-ada' },
    })
    expect(made.statusCode).toBe(201)
    const [event] = (await server.send('GET', '/v1/projects/by-ada/events')).json()
    expect(event.actor).toMatchObject({ name: 'Ada Lovelace', user: { subject: 'ada' } })
  })

  test('works across replicas: begun on one, finished on the other, used on both', async () => {
    const browser = await signedIn(server, replica)
    expect([await statusOf(browser), await statusOf(browser, replica)]).toEqual([200, 200])
    const headers = asPerson(browser)
    await replica.send('DELETE', '/v1/sessions/self', { headers })
    expect(await statusOf(browser)).toBe(401)
  })

  test.each([
    ['/console/#/projects/payments', '/console/#/projects/payments'],
    ['//evil.example/', '/console/'],
    ['/\\evil.example', '/console/'],
    ['/console/../../evil', '/console/'],
    ['/console/#/x\r\nset-cookie: a=b', '/console/'],
    ['/console/@evil.example', '/console/'],
  ])('begun from %s returns to %s', async (path, returned) => {
    const browser = createBrowser(provider, server)
    const { headers } = await browser.signIn(`?return=${encodeURIComponent(path)}`)
    expect(headers.location).toBe(`${publicUrl}${returned}`)
  })

  test('ends the session that the browser had, has a new secret, and keeps no token', async () => {
    const browser = await signedIn()
    const before = secretOf(browser)
    await browser.signIn()
    expect(secretOf(browser)).not.toBe(before)
    const headers = pageHeaders(before)
    expect((await server.send('GET', '/v1/self', { headers })).json().code).toBe('invalid_session')
    const dump = await server.database.dump()
    expect(dump).not.toMatch(/eyJ[\w-]{10,}\.|at_hash|nonce|access_token/)
  })

  test('is lost with the next request after a change of the rule, on every replica', async () => {
    const browser = await signedIn()
    expect(await statusOf(browser, replica)).toBe(200)
    await server.send('PATCH', `/v1/access-rules/${rule.id}`, { body: { active: false } })
    expect([await statusOf(browser), await statusOf(browser, replica)]).toEqual([401, 401])
    await server.send('PATCH', `/v1/access-rules/${rule.id}`, { body: { active: true } })
    expect(await statusOf(browser, replica)).toBe(200)
  })

  test('gives no entry without a rule, and shows the claims that arrived', async () => {
    provider.person.claims = { groups: ['<script>alert(1)</script>'], name: 'Eve' }
    const browser = createBrowser(provider, server)
    const answer = await browser.signIn()
    expect(answer.statusCode).toBe(403)
    expect(answer.body).toContain('&lt;script&gt;')
    expect(answer.body).not.toContain('<script')
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'/)
    expect(secretOf(browser)).toBe('')
  })

  test('again proves who the person is, for what needs a recent sign-in', async () => {
    const browser = await signedIn()
    const old = await server.send('GET', '/v1/self', { headers: asPerson(browser) })
    const url = new URL(String((await browser.visit('/sign-in?recent=true')).headers.location))
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ prompt: 'login', max_age: '900' })
    expect((await browser.signIn('?recent=true')).statusCode).toBe(302)
    const self = (await server.send('GET', '/v1/self', { headers: asPerson(browser) })).json()
    // Only then must the provider say when that was.
    expect(old.json()).not.toHaveProperty('recentSignInUntil')
    expect(Date.parse(self.recentSignInUntil)).toBeGreaterThan(Date.now() + 890_000)
  })

  test.each([
    ['EC', () => ecKey()],
    ['RSA', () => rsaKey()],
    ['Ed25519', () => edKey()],
  ])('works with private_key_jwt by %s', async (_name, newKey) => {
    const { privateKey } = newKey()
    const publicKey = createPublicKey(privateKey)
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'own' }] }
    const client = { client_secret: undefined, token_endpoint_auth_method: 'private_key_jwt', jwks }
    const other = await startProvider(callback, client)
    other.person = provider.person
    const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const config = configOf(other, { privateKey: pem, privateKeyId: 'own' })
    const app = await startApp({ fetch: other.server.fetchWith(), config })
    const body = { ...people, conditions: { groups: 'platform' }, role: 'reader' }
    await app.send('POST', '/v1/access-rules', { body })
    const answer = await createBrowser(other, app).signIn()
    expect(answer.statusCode, answer.body).toBe(302)
  })

  test('in two tabs ends in the one that began later, not in none', async () => {
    const browser = createBrowser(provider, server)
    const first = await browser.authorize()
    const second = await browser.authorize()
    const lost = await browser.visit(first)
    expect([lost.statusCode, lost.body.includes('another tab')]).toEqual([400, true])
    expect((await browser.visit(second)).statusCode).toBe(302)
  })

  test('uses a changed client secret, as soon as it is known', async () => {
    const browser = createBrowser(provider, server)
    const signIn = await signInOf(server.app.kernel)
    const { oidc } = configOf(provider)
    signIn?.replaceSecrets({ ...oidc, clientSecret: 'another' })
    expect((await browser.signIn()).statusCode).toBe(400)
    signIn?.replaceSecrets({ ...oidc, clientSecret })
    expect((await browser.signIn()).statusCode).toBe(302)
  })

  test('while the provider is down says so; live sessions go on', async () => {
    const other = await startProvider(callback)
    const app = await startApp({ fetch: other.server.fetchWith(), config: configOf(other) })
    const body = { ...people, conditions: { groups: 'platform' }, role: 'reader' }
    await app.send('POST', '/v1/access-rules', { body })
    other.person = provider.person
    const browser = createBrowser(other, app)
    expect((await browser.signIn()).statusCode).toBe(302)
    const url = await browser.authorize()
    await other.close()
    expect(await statusOf(browser, app)).toBe(200)
    const answer = await browser.visit(url)
    expect(answer.statusCode).toBe(503)
    expect(answer.body).toContain('sign in with an API key')
    const late = await startApp({ fetch: other.server.fetchWith(), config: configOf(other) })
    expect((await createBrowser(other, late).visit('/sign-in')).statusCode).toBe(503)
  })
})

describe('an attack on the sign-in', () => {
  async function expectRefused(browser: TestBrowser, url: string) {
    const answer = await browser.visit(url)
    expect([answer.statusCode, secretOf(browser)]).toEqual([400, ''])
  }

  test('a victim does not finish a sign-in that another person began (fixation)', async () => {
    const url = await createBrowser(provider, server).authorize()
    await expectRefused(createBrowser(provider, server), url)
    const victim = createBrowser(provider, server)
    await victim.authorize()
    await expectRefused(victim, url)
  })

  test('a finished sign-in is not finished again, not even with the cookie', async () => {
    const browser = createBrowser(provider, server)
    const url = await browser.authorize()
    const attempt = browser.cookies.get(host)?.get(attemptName) ?? ''
    expect((await browser.visit(url)).statusCode).toBe(302)
    browser.cookies.clear()
    await expectRefused(browser, url)
    browser.cookies.set(host, new Map([[attemptName, attempt]]))
    await expectRefused(browser, url)
  })

  test.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'x'.repeat(43))],
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['another issuer (mix-up)', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
    ['no issuer', (url: URL) => url.searchParams.delete('iss')],
    ['another code', (url: URL) => url.searchParams.set('code', 'x'.repeat(43))],
    ['two codes', (url: URL) => url.searchParams.append('code', 'x')],
  ])('is refused with %s', async (_name, change) => {
    const browser = createBrowser(provider, server)
    const url = new URL(await browser.authorize())
    change(url)
    await expectRefused(browser, url.href)
  })

  test('a code of another sign-in is refused (PKCE)', async () => {
    const [own, other] = [createBrowser(provider, server), createBrowser(provider, server)]
    const url = new URL(await own.authorize())
    const stolen = new URL(await other.authorize())
    url.searchParams.set('code', stolen.searchParams.get('code') ?? '')
    await expectRefused(own, url.href)
  })

  test('an edited cookie is refused', async () => {
    const browser = createBrowser(provider, server)
    const url = await browser.authorize()
    const jar = browser.cookies.get(host)
    const [secret, start = 0, , path] = (jar?.get(attemptName) ?? '').split('.')
    jar?.set(attemptName, [secret, Number(start) + 1, 0, path].join('.'))
    await expectRefused(browser, url)
  })
})
