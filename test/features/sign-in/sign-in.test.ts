import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
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
const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} }

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
const asPerson = (browser: TestBrowser) => ({
  'x-api-key': 'session',
  cookie: `${sessionName}=${secretOf(browser)}`,
  'sec-fetch-site': 'same-origin',
})

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

  test('returns to the page of the console that it was begun from', async () => {
    const browser = createBrowser(provider, server)
    const path = encodeURIComponent('/console/#/projects/payments')
    const { headers } = await browser.signIn(`?return=${path}`)
    expect(headers.location).toBe(`${publicUrl}/console/#/projects/payments`)
  })

  test.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/console/../../evil',
    '/console/#/x\r\nset-cookie: a=b',
    '/v1/projects',
    '/console/@evil.example',
    'javascript:alert(1)',
  ])('returns to nowhere else (%s)', async (path) => {
    const browser = createBrowser(provider, server)
    const { headers } = await browser.signIn(`?return=${encodeURIComponent(path)}`)
    expect(headers.location).toBe(`${publicUrl}/console/`)
  })

  test('ends the session that the browser had, and has a new secret', async () => {
    const browser = await signedIn()
    const before = secretOf(browser)
    await browser.signIn()
    expect(secretOf(browser)).not.toBe(before)
    const headers = { 'x-api-key': 'session', cookie: `${sessionName}=${before}` }
    expect((await server.send('GET', '/v1/self', { headers })).json().code).toBe('invalid_session')
  })

  test('keeps no token, and no claim about the exchange', async () => {
    const browser = await signedIn()
    const dump = await server.database.dump()
    expect(dump).not.toMatch(/eyJ[\w-]{10,}\.|at_hash|nonce|access_token/)
    await server.send('DELETE', '/v1/sessions/self', { headers: asPerson(browser) })
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

  test('by email requires that the provider has verified it', async () => {
    const { id } = await createRule({ email: 'bob@example.com' }, 'reader')
    provider.person = {
      subject: 'bob',
      claims: { email: 'bob@example.com', email_verified: false },
    }
    const browser = createBrowser(provider, server)
    expect((await browser.signIn()).statusCode).toBe(403)
    provider.person.claims.email_verified = true
    provider.person.subject = 'bob2'
    expect((await createBrowser(provider, server).signIn()).statusCode).toBe(302)
    await server.send('DELETE', `/v1/access-rules/${id}`)
  })

  test('says so if the person cancels', async () => {
    provider.person.cancels = true
    const answer = await createBrowser(provider, server).signIn()
    expect(answer.statusCode).toBe(400)
    expect(answer.body).toContain('cancelled')
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
    ['private_key_jwt with EC', 'ec'],
    ['private_key_jwt with RSA', 'rsa'],
    ['private_key_jwt with Ed25519', 'ed25519'],
  ] as const)('works with %s', async (_name, type) => {
    const { privateKey, publicKey } =
      type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : type === 'rsa'
          ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
          : generateKeyPairSync('ed25519')
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
    await app.close()
    await other.close()
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

  /** Has the provider issue a token with these claims, and finishes the sign-in with it. */
  async function finishWith(change: Record<string, unknown>, forge = (token: string) => token) {
    const browser = createBrowser(provider, server)
    const url = await browser.authorize()
    // The nonce of this sign-in, so that nothing else is wrong with the token.
    const nonce = nonces.at(-1) ?? ''
    const token = forge(await provider.sign({ sub: 'ada', nonce, ...change }, 'JWT'))
    provider.intercept = (path, _request, response) => {
      const answers: Record<string, object> = {
        '/token': { access_token: 'a', token_type: 'Bearer', id_token: token },
        '/me': { sub: 'ada', groups: ['platform'] },
      }
      if (answers[path] === undefined) return false
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answers[path]))
      return true
    }
    const answer = await browser.visit(url)
    return [answer.statusCode, secretOf(browser) !== '']
  }

  test('a session at the provider that no database stores as it is does not matter', async () => {
    expect(await finishWith({ sid: 'a\0' })).toEqual([302, true])
  })

  test('a good ID token is accepted in the same way, by clocks 50 seconds apart', async () => {
    const seconds = Math.floor(Date.now() / 1_000)
    expect(await finishWith({})).toEqual([302, true])
    expect(await finishWith({ iat: seconds + 50, exp: seconds + 170 })).toEqual([302, true])
    expect(await finishWith({ iat: seconds - 350, exp: seconds - 50 })).toEqual([302, true])
  })

  test.each([
    ['for another client', { aud: 'other' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['of another person than the user info', { sub: 'eve' }],
    ['with another nonce', { nonce: 'x' }],
    ['that has expired', { iat: 1_700_000_000, exp: 1_700_000_100 }],
    ['that is not valid yet', { nbf: 4_000_000_000 }],
    ['of two audiences without azp', { aud: [clientId, 'other'] }],
    ['that another client requested', { azp: 'other' }],
    ['with auth_time before all time', { auth_time: -1e300 }],
  ])('an ID token %s is refused', async (_name, change) => {
    expect(await finishWith(change)).toEqual([400, false])
  })

  test('an ID token without a signature, or with that of another key, is refused', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const foreign = (await provider.sign({}, 'JWT', privateKey)).split('.')[2]
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    for (const forge of [
      (token: string) => [...token.split('.').slice(0, 2), foreign].join('.'),
      (token: string) => [none, token.split('.')[1], ''].join('.'),
    ]) {
      expect(await finishWith({}, forge)).toEqual([400, false])
    }
  })
})

/** Nonces that were sent to the provider. */
const nonces: string[] = []
beforeAll(() => {
  const { requests } = provider.server
  const push = requests.push.bind(requests)
  requests.push = (...lines) => {
    for (const line of lines) {
      const [, nonce] = /[?&]nonce=([\w-]+)/.exec(line) ?? []
      if (nonce !== undefined) nonces.push(nonce)
    }
    return push(...lines)
  }
})

describe('while the provider is down', () => {
  test('live sessions go on, and signing in says what is wrong', async () => {
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
    await app.close()
    const late = await startApp({ fetch: other.server.fetchWith(), config: configOf(other) })
    expect((await createBrowser(other, late).visit('/sign-in')).statusCode).toBe(503)
    await late.close()
  })
})

describe('signing out', () => {
  test('leads to the provider, with no token', async () => {
    const browser = await signedIn()
    const answer = await server.send('DELETE', '/v1/sessions/self', { headers: asPerson(browser) })
    const url = new URL(answer.json().signOutUrl)
    expect(url.origin).toBe(new URL(provider.issuer).origin)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: clientId,
      logout_hint: 'ada@example.com',
      post_logout_redirect_uri: `${publicUrl}/console/`,
    })
    expect(await statusOf(browser)).toBe(401)
  })

  async function logOut(token: string) {
    return server.inject({
      method: 'POST',
      url: '/sign-in/back-channel-logout',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ logout_token: token }).toString(),
    })
  }

  test('at the provider ends the sessions of the person here (back-channel)', async () => {
    const [browser, second] = [await signedIn(), await signedIn()]
    provider.person.subject = 'grace'
    const other = await signedIn()
    const answer = await logOut(await provider.sign({ sub: 'ada', events: logoutEvent }))
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
    const statuses = [
      await statusOf(browser),
      await statusOf(second),
      await statusOf(other, replica),
    ]
    expect(statuses).toEqual([401, 401, 200])
    const events = await readEvents(server.context.store.reader, systemLedgerId, {
      after: 0,
      limit: 1_000,
    })
    expect(events.at(-1)).toMatchObject({
      type: 'session.ended',
      actor: { name: 'OpenID provider' },
      changes: { reason: { to: 'provider_logout' } },
    })
  })

  test('a logout token ends no session that began after it, and is accepted once', async () => {
    const iat = Math.floor(Date.now() / 1_000) - 300
    const old = await provider.sign({ sub: 'ada', events: logoutEvent, iat })
    const token = await provider.sign({ sub: 'ada', events: logoutEvent })
    const browser = await signedIn()
    expect([(await logOut(old)).statusCode, await statusOf(browser)]).toEqual([200, 200])
    expect([(await logOut(token)).statusCode, await statusOf(browser)]).toEqual([200, 401])
    const again = await signedIn()
    expect([(await logOut(token)).statusCode, await statusOf(again)]).toEqual([400, 200])
  })

  const bad: [string, () => Promise<string>][] = [
    ['for another client', () => provider.sign({ sub: 'ada', events: logoutEvent, aud: 'x' })],
    [
      'of another issuer',
      () => provider.sign({ sub: 'ada', events: logoutEvent, iss: 'https://x' }),
    ],
    ['without the event', () => provider.sign({ sub: 'ada' })],
    [
      'with a nonce: an ID token',
      () => provider.sign({ sub: 'ada', events: logoutEvent, nonce: 'n' }),
    ],
    ['without sub and sid', () => provider.sign({ events: logoutEvent })],
    ['of another type', () => provider.sign({ sub: 'ada', events: logoutEvent }, 'at+jwt')],
    ['without jti', () => provider.sign({ sub: 'ada', events: logoutEvent, jti: undefined })],
    [
      'of another key',
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        return provider.sign({ sub: 'ada', events: logoutEvent }, 'logout+jwt', privateKey)
      },
    ],
    ['that is none', async () => 'x'],
  ]
  test.each(bad)('a logout token %s ends nothing', async (_name, sign) => {
    const browser = await signedIn()
    const answer = await logOut(await sign())
    expect([answer.statusCode, answer.json()]).toEqual([400, { error: 'invalid_request' }])
    expect(await statusOf(browser)).toBe(200)
  })
})
