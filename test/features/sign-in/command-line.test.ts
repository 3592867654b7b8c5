import { hash, randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  exchangeLedgerId,
  type LedgerEvent,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { pageHeaders, publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { createBrowser, type TestBrowser } from '../../support/sign-in/browser.ts'
import {
  clientId,
  clientSecret,
  startProvider,
  type TestProvider,
} from '../../support/sign-in/provider.ts'

const host = new URL(publicUrl).host
const keyMs = 900_000

let provider: TestProvider
let server: TestApp
let replica: TestApp
let rule: { id: string }
let offset = 0
/** The person of a test: one may sign in 60 times a minute. */
let ada: string
beforeAll(async () => {
  provider = await startProvider(`${publicUrl}/sign-in/callback`)
  provider.person.claims = { name: 'Ada Lovelace', groups: ['platform'] }
  const { issuer } = provider
  const scopes = 'openid profile email groups'
  const options = {
    fetch: provider.server.fetchWith(),
    clock: { now: () => Date.now() + offset, monotonic: () => performance.now() },
    config: { oidc: { issuer, clientId, clientSecret, scopes } },
  }
  server = await startApp(options)
  replica = await startApp({ ...options, database: server.database })
  const conditions = { groups: 'platform' }
  const body = { for: 'people', name: 'n', conditions, role: 'writer', allProjects: true }
  rule = (await server.send('POST', '/v1/access-rules', { body })).json()
})
beforeEach(() => {
  ada = `ada-${randomUUID()}`
  offset = 0
})

const asPage = ({ cookies }: TestBrowser) =>
  pageHeaders(cookies.get(host)?.get('__Secure-pubring-session'))

/** Makes the verifier, the query and the address that `pubring login` makes. */
function begin(changes: Record<string, string> = {}) {
  const codeVerifier = randomBytes(32).toString('base64url')
  const query = {
    port: '50123',
    code_challenge: hash('sha256', codeVerifier, 'base64url'),
    state: randomBytes(16).toString('base64url'),
    client: 'ada@laptop',
    ...changes,
  }
  return { codeVerifier, query, address: `/sign-in/cli?${new URLSearchParams(query)}` }
}

async function signedIn(subject = ada): Promise<TestBrowser> {
  provider.person.subject = subject
  const browser = createBrowser(provider, server)
  expect((await browser.signIn('?recent=true')).statusCode).toBe(302)
  return browser
}

const approve = (browser: TestBrowser, query: object, headers: Record<string, string> = {}) =>
  server.send('POST', '/sign-in/cli', { body: query, headers: { ...asPage(browser), ...headers } })

/** The page, the click, and the redirect to loopback. */
async function codeFrom(browser: TestBrowser, { query } = begin()): Promise<string> {
  const answer = await approve(browser, query)
  expect(answer.statusCode, answer.body).toBe(200)
  const { origin, searchParams } = new URL(answer.json().url)
  expect([origin, searchParams.get('state')]).toEqual([
    `http://127.0.0.1:${query.port}`,
    query.state,
  ])
  const code = searchParams.get('code') ?? ''
  rememberSecret('a code', code.split('.')[0] ?? '')
  return code
}

const redeem = (body: object, app = server) =>
  app.send('POST', '/v1/session-keys', { body, headers: { 'x-api-key': '' } })

async function loggedIn(browser: TestBrowser) {
  const login = begin()
  const code = await codeFrom(browser, login)
  const { codeVerifier } = login
  const answer = await redeem({ code, codeVerifier, port: 50_123 }, replica)
  expect(answer.statusCode, answer.body).toBe(200)
  return answer.json() as { apiKey: string; renewalSecret: string; expiresIn: number }
}

const readSelf = (apiKey: string, app: TestApp) =>
  app.send('GET', '/v1/self', { headers: { 'x-api-key': apiKey } })
const statusOf = async (apiKey: string, app = server) => (await readSelf(apiKey, app)).statusCode
const selfOf = async (apiKey: string, app = server) => (await readSelf(apiKey, app)).json()
const signOut = (headers: Record<string, string>) =>
  server.send('DELETE', '/v1/sessions/self', { headers })

const selfIn = async (browser: TestBrowser) =>
  (await server.send('GET', '/v1/self', { headers: asPage(browser) })).json()

/** Neither its API key nor its renewal secret gives access, on any replica. */
async function expectOver({ apiKey, renewalSecret }: Awaited<ReturnType<typeof loggedIn>>) {
  expect([await statusOf(apiKey), await statusOf(apiKey, replica)]).toEqual([401, 401])
  await expectEnded(redeem({ renewalSecret }))
}

async function expectEnded(answer: ReturnType<typeof redeem>) {
  const { statusCode, body } = await answer
  expect([statusCode, JSON.parse(body).code], body).toEqual([401, 'invalid_session'])
}

describe('signing in on the command line', () => {
  test('gives API keys of 15 minutes with the rights and the name of the person', async () => {
    const { apiKey, expiresIn } = await loggedIn(await signedIn())
    expect(expiresIn).toBe(900)
    const headers = { 'x-api-key': apiKey }
    const self = await selfOf(apiKey)
    expect(self).toMatchObject({
      type: 'person',
      name: 'Ada Lovelace',
      grants: [{ role: 'writer' }],
      session: { current: true },
    })
    expect((await server.send('GET', '/v1/api-keys/self', { headers })).statusCode).toBe(404)
    const body = { name: 'p' }
    const answer = await server.send('POST', '/v1/projects', { headers, body })
    expect(answer.json().code).toBe('insufficient_role')
    const url = `/v1/projects/${exchangeLedgerId}/events?limit=1`
    const [event] = (await server.send('GET', url)).json()
    expect(event).toMatchObject({
      type: 'token.exchanged',
      actor: { name: 'Ada Lovelace', user: { subject: ada, sessionId: self.session.id } },
      changes: { name: { to: 'pubring login' }, role: { to: 'reader' } },
    })
    // It ends with its session, and is not one of the API keys that admins manage.
    for (const query of ['', '?exchanged=true']) {
      const listed = await server.send('GET', `/v1/api-keys${query}`)
      expect(listed.body).not.toContain('pubring login')
    }
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await server.send(method, `/v1/api-keys/${event.subject.id}`)
      expect(answer.json().code).toBe('api_key_not_found')
    }
  })

  test('is told apart from the browser that approved it, also after signing in there again', async () => {
    const browser = await signedIn('linus')
    const { apiKey } = await loggedIn(browser)
    await browser.signIn('?recent=true')
    const listed = await server.send('GET', '/v1/sessions', { headers: { 'x-api-key': apiKey } })
    const [commandLine, approver] = listed.json()
    expect(approver).toMatchObject({ kind: 'browser', address: '127.0.0.1' })
    expect(commandLine).toMatchObject({
      kind: 'command_line',
      client: 'ada@laptop',
      address: '127.0.0.1',
      approvedBy: approver.id,
      current: true,
    })
  })

  test('lasts while its session is used, and renews its API keys', async () => {
    const { apiKey, renewalSecret } = await loggedIn(await signedIn())
    offset = keyMs + 1
    expect(await statusOf(apiKey)).toBe(401)
    const { apiKey: next, ...rest } = (await redeem({ renewalSecret })).json()
    expect(rest).toEqual({ expiresIn: 900 })
    expect(await statusOf(next, replica)).toBe(200)
    offset = 4 * 3_600_000
    await expectEnded(redeem({ renewalSecret }))
  })

  test('renews its API keys 60 times a minute', async () => {
    const { renewalSecret } = await loggedIn(await signedIn())
    for (let n = 1; n < 60; n += 1) {
      expect((await redeem({ renewalSecret }, n % 2 ? server : replica)).statusCode).toBe(200)
    }
    const refused = await redeem({ renewalSecret })
    expect([refused.json().code, refused.headers['retry-after']]).toEqual(['rate_limited', '60'])
    offset = 60_000
    expect((await redeem({ renewalSecret })).statusCode).toBe(200)
  })

  test('never lasts longer than the session that approved it', async () => {
    const browser = await signedIn()
    offset = 600_000
    const { apiKey } = await loggedIn(browser)
    const ends = [await selfIn(browser), await selfOf(apiKey)].map(
      ({ session }) => session.expireTime,
    )
    expect(ends[1]).toBe(ends[0])
  })

  test('ends with the next request when it is signed out, or its person loses all sessions', async () => {
    const browser = await signedIn()
    const [one, other] = [await loggedIn(browser), await loggedIn(browser)]
    await signOut({ 'x-api-key': one.apiKey })
    await expectOver(one)
    const { person } = await selfOf(other.apiKey)
    await server.send('DELETE', `/v1/sessions?person=${person.id}`)
    await expectOver(other)
  })

  test('works for the session of an API key', async () => {
    const signIn = await server.send('POST', '/v1/sessions')
    const [cookie = ''] = String(signIn.headers['set-cookie']).split(';')
    const browser = createBrowser(provider, server)
    const [name = '', value = ''] = cookie.split('=')
    browser.cookies.set(host, new Map([[name, value]]))
    const { apiKey } = await loggedIn(browser)
    expect(await selfOf(apiKey)).toMatchObject({ type: 'api_key', name: 'a admin' })
  })
})

describe('a session of the command line', () => {
  test('ends when the session that approved it is signed out, with an event', async () => {
    const [browser, elsewhere] = [await signedIn(), await signedIn()]
    const [one, two] = [await loggedIn(browser), await loggedIn(browser)]
    const other = await loggedIn(elsewhere)
    const commandLines = [await selfOf(one.apiKey), await selfOf(two.apiKey)]
    const approver = (await selfIn(browser)).session.id
    expect((await signOut(asPage(browser))).statusCode).toBe(200)
    for (const each of [one, two]) await expectOver(each)
    expect(await statusOf(other.apiKey)).toBe(200)
    const ids = commandLines.map(({ session }) => session.id)
    const subjects = [approver, ...ids].join(',')
    const ended = (await server.send('GET', `/v1/history?subject=${subjects}`))
      .json()
      .filter(({ type }: { type: string }) => type === 'session.ended')
    expect(new Set(ended.map(({ requestId }: { requestId: string }) => requestId)).size).toBe(1)
    const reasons = ended.map(({ subject, changes }: LedgerEvent) => [
      subject.id,
      changes?.reason?.to,
    ])
    expect(Object.fromEntries(reasons)).toEqual({
      [approver]: 'signed_out',
      ...Object.fromEntries(ids.map((id) => [id, 'approver_ended'])),
    })
  })

  test('goes on when its person signs in again in the browser, and ends with that session', async () => {
    const browser = await signedIn()
    const login = await loggedIn(browser)
    for (const _again of [1, 2]) {
      expect((await browser.signIn('?recent=true')).statusCode).toBe(302)
      expect(await statusOf(login.apiKey)).toBe(200)
    }
    const later = await loggedIn(browser)
    await signOut(asPage(browser))
    for (const each of [login, later]) await expectOver(each)
  })

  test('ends when another person signs in in the browser', async () => {
    const browser = await signedIn()
    const login = await loggedIn(browser)
    provider.person.subject = 'eve'
    // Otherwise the provider knows who is there.
    for (const [host] of browser.cookies)
      if (host !== new URL(publicUrl).host) browser.cookies.delete(host)
    expect((await browser.signIn()).statusCode).toBe(302)
    expect((await selfIn(browser)).person.subject).toBe('eve')
    await expectOver(login)
  })

  test('needs a recent sign-in as the one in the browser does, by which it was approved', async () => {
    const { renewalSecret } = await loggedIn(await signedIn())
    await server.send('PATCH', `/v1/access-rules/${rule.id}`, { body: { role: 'admin' } })
    const deletion = async (name: string) => {
      await server.send('POST', '/v1/projects', { body: { name } })
      const headers = { 'x-api-key': (await redeem({ renewalSecret })).json().apiKey }
      const answer = await server.send('DELETE', `/v1/projects/${name}`, { headers })
      return answer.statusCode === 204 || answer.json().code
    }
    offset = 840_000
    expect(await deletion('by-a-recent-one')).toBe(true)
    offset = 960_000
    expect(await deletion('by-an-old-one')).toBe('recent_sign_in_required')
    await server.send('PATCH', `/v1/access-rules/${rule.id}`, { body: { role: 'writer' } })
  })
})

describe('the page', () => {
  test('says who asks, runs one script, and cannot be framed', async () => {
    const browser = await signedIn()
    const { address } = begin()
    const { body, headers } = await browser.visit(`${publicUrl}${address}`)
    for (const text of ['Ada Lovelace', 'ada@laptop', '127.0.0.1:50123']) {
      expect(body).toContain(text)
    }
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(headers['cache-control']).toBe('no-store')
    expect(body.match(/<script/g)).toHaveLength(1)
  })

  test('has those who have not signed in lately do so first, and come back', async () => {
    const { query, address } = begin()
    const parameters = new URLSearchParams({ recent: 'true', return: address })
    const signInUrl = `${publicUrl}/sign-in?${parameters}`
    const visit = (browser: TestBrowser) => browser.visit(`${publicUrl}${address}`)
    const old = await signedIn()
    offset = 901_000
    expect((await approve(old, query)).json().code).toBe('recent_sign_in_required')
    expect((await visit(old)).headers.location).toBe(signInUrl)
    offset = 0
    const browser = createBrowser(provider, server)
    expect((await visit(browser)).headers.location).toBe(signInUrl)
    expect((await browser.signIn(`?${parameters}`)).headers.location).toBe(`${publicUrl}${address}`)
    expect((await visit(browser)).body).toContain('Continue')
    expect((await approve(browser, query)).statusCode).toBe(200)
  })

  test.each([
    { port: '80@evil.example' },
    { state: 'x' },
    { code_challenge: 'plain' },
    { client: '<script>' },
  ])('rejects an address with %j', async (change) => {
    const { address, query } = begin(change as Record<string, string>)
    const browser = await signedIn()
    const answer = await browser.visit(`${publicUrl}${address}`)
    expect(answer.statusCode).toBe(400)
    expect(answer.body).not.toContain('<script>')
    expect((await approve(browser, query)).json().code).toBe('sign_in_failed')
  })
})

describe('attacks', () => {
  test('nothing is approved for a page of another site, without the header, or for an API key', async () => {
    const browser = await signedIn()
    const { query } = begin()
    const codeOf = async (headers: Record<string, string>) =>
      (await approve(browser, query, headers)).json().code
    expect(await codeOf({ 'sec-fetch-site': 'cross-site' })).toBe('cross_site_request')
    expect(await codeOf({ origin: 'http://127.0.0.1:50123' })).toBe('cross_site_request')
    expect(await codeOf({ 'x-api-key': '' })).toBe('missing_api_key')
    expect(await codeOf({ 'x-api-key': server.admin })).toBe('cross_site_request')
    const { apiKey, renewalSecret } = await loggedIn(browser)
    expect(await codeOf({ 'x-api-key': apiKey })).toBe('cross_site_request')
    const cookie = `__Secure-pubring-session=${renewalSecret}`
    expect(await codeOf({ cookie })).toBe('invalid_session')
    expect(await statusOf(renewalSecret)).toBe(401)
  })

  test('a code is accepted once, by who began, where they waited', async () => {
    const browser = await signedIn()
    const login = begin()
    const code = await codeFrom(browser, login)
    const valid = { code, codeVerifier: login.codeVerifier, port: 50_123 }
    await expectEnded(redeem({ ...valid, codeVerifier: login.query.code_challenge }))
    await expectEnded(redeem({ ...valid, port: 50_124 }))
    await expectEnded(redeem({ code }))
    await expectEnded(redeem({ ...valid, code: `${code}x` }))
    await expectEnded(redeem({ renewalSecret: code.split('.')[0] }))
    await expectEnded(redeem({}))
    expect(await statusOf(code.split('.')[0] ?? '')).toBe(401)
    expect((await redeem(valid)).statusCode).toBe(200)
    await expectEnded(redeem(valid))
    await expectEnded(redeem(valid, replica))
  })

  test('of two at the same time, one gets the session', async () => {
    const login = begin()
    const code = await codeFrom(await signedIn(), login)
    const body = { code, codeVerifier: login.codeVerifier, port: 50_123 }
    const answers = await Promise.all([server, replica, server].map((app) => redeem(body, app)))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401, 401])
  })

  test('a code is not accepted after a minute, nor once the session that approved it has ended', async () => {
    const browser = await signedIn()
    const login = begin()
    const code = await codeFrom(browser, login)
    const redeemed = () => redeem({ code, codeVerifier: login.codeVerifier, port: 50_123 })
    offset = 61_000
    await expectEnded(redeemed())
    offset = 0
    await signOut(asPage(browser))
    await expectEnded(redeemed())
  })
})
