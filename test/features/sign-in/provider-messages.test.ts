import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signInOf } from '../../../packages/server/src/features/sign-in/sign-in.ts'
import { sessions } from '../../../packages/server/src/features/sign-in/stored.ts'
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

const host = new URL(publicUrl).host
const sessionName = '__Secure-pubring-session'
const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} }

let provider: TestProvider
let server: TestApp

beforeAll(async () => {
  provider = await startProvider(
    `${publicUrl}/sign-in/callback`,
    {
      backchannel_logout_uri: `${publicUrl}/sign-in/back-channel-logout`,
      backchannel_logout_session_required: true,
    },
    async (url, { body }) => {
      const { statusCode } = await post(url, String(body))
      return new Response(null, { status: statusCode })
    },
  )
  server = await startApp({
    fetch: provider.server.fetchWith(),
    config: { oidc: oidcWith(clientSecret) },
  })
  await createRule({ groups: 'platform' })
})
beforeEach(() => {
  provider.intercept = undefined
  provider.person = { subject: 'ada', claims: { groups: ['platform'] } }
})

const oidcWith = (secret: string) => ({
  issuer: provider.issuer,
  clientId,
  clientSecret: secret,
  scopes: 'openid profile email groups',
})

const createRule = (conditions: object, app = server) =>
  app.send('POST', '/v1/access-rules', {
    body: { for: 'people', name: 'n', conditions, role: 'admin', allProjects: true },
  })

const asPerson = ({ cookies }: TestBrowser) => ({
  'x-api-key': 'session',
  cookie: `${sessionName}=${cookies.get(host)?.get(sessionName)}`,
})

async function signedIn(): Promise<TestBrowser> {
  const browser = createBrowser(provider, server)
  const answer = await browser.signIn()
  expect(answer.statusCode, answer.body).toBe(302)
  return browser
}

async function statusOf(browser: TestBrowser) {
  return (await server.send('GET', '/v1/self', { headers: asPerson(browser) })).statusCode
}

const post = (url: string, payload: string) =>
  server.inject({
    method: 'POST',
    url: url.replace(publicUrl, ''),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload,
  })

const logOut = (token: string) =>
  post('/sign-in/back-channel-logout', String(new URLSearchParams({ logout_token: token })))

/** Has the provider add claims to the user info. */
function addUserInfo(text: string, subject = 'ada'): void {
  provider.intercept = (path, _request, response) => {
    if (path !== '/me') return false
    response.setHeader('content-type', 'application/json')
    const groups = subject === 'ada' ? ',"groups":["platform"]' : ''
    response.end(`{"sub":"${subject}"${groups}${text}}`)
    return true
  }
}

describe('claims', () => {
  test.each([
    ['numbers', ',"name":7,"email":1e300,"preferred_username":[]'],
    ['lists of objects', ',"roles":[{"name":"platform"},[null,[]]]'],
    ['names of members of every object', ',"__proto__":{"groups":"x"},"constructor":1'],
    ['texts that cannot be stored as they are', ',"sid":"a\\u0000","name":"\\u0000","x":"\\ud800"'],
    ['4 KB of groups', `,"memberOf":${JSON.stringify(Array(100).fill('g'.repeat(40)))}`],
  ])('with %s let the person in', async (_name, text) => {
    addUserInfo(text)
    const browser = await signedIn()
    const self = await server.send('GET', '/v1/self', { headers: asPerson(browser) })
    expect(self.json()).toMatchObject({ name: 'ada', grants: [{ role: 'admin' }] })
    const list = await server.send('GET', '/v1/sessions')
    expect(list.statusCode).toBe(200)
  })

  test('of the user info do not say when a person proved who they are', async () => {
    addUserInfo(`,"auth_time":${Math.floor(Date.now() / 1_000)}`)
    const browser = await signedIn()
    const self = await server.send('GET', '/v1/self', { headers: asPerson(browser) })
    expect(self.json()).not.toHaveProperty('recentSignInUntil')
  })

  test('of the user info give no email, and verify none of the ID token', async () => {
    await createRule({ email: 'root@example.com' })
    provider.person = { subject: 'eve', claims: { email: 'root@example.com' } }
    addUserInfo(',"email":"root@example.com","email_verified":true', 'eve')
    expect((await createBrowser(provider, server).signIn()).statusCode).toBe(403)
    provider.person.claims = { email_verified: true }
    const refused = await createBrowser(provider, server).signIn()
    expect(refused.statusCode).toBe(403)
    expect(refused.body).toContain('email of the user info does not count')
    provider.person.claims = { email: 'root@example.com', email_verified: true }
    expect((await createBrowser(provider, server).signIn()).statusCode).toBe(302)
  })

  test('of the user info do not change those of the ID token', async () => {
    await createRule({ name: 'root' })
    provider.person = { subject: 'eve', claims: { name: 'eve', groups: ['x'] } }
    addUserInfo(',"name":"root"', 'eve')
    expect((await createBrowser(provider, server).signIn()).statusCode).toBe(403)
  })

  test('of 5,000 groups are refused, with what to do', async () => {
    const groups = Array.from({ length: 5_000 }, (_one, index) => `group-${index}`)
    addUserInfo(`,"memberOf":${JSON.stringify(groups)}`)
    const answer = await createBrowser(provider, server).signIn()
    expect([answer.statusCode, answer.body.length < 5_000]).toEqual([400, true])
    expect(answer.body).toContain('Have it send fewer')
  })

  test('meet a condition by their own members alone', async () => {
    provider.person.subject = 'eve'
    provider.person.claims = {}
    for (const name of ['/__proto__/constructor/name', 'toString', '/constructor/name']) {
      expect((await createRule({ [name]: 'Object*' })).statusCode).toBe(201)
    }
    expect((await createBrowser(provider, server).signIn()).statusCode).toBe(403)
  })
})

test('a pattern selects no one where anyone can have an account', async () => {
  const oidc = { ...oidcWith(clientSecret), issuer: 'https://accounts.google.com' }
  const google = await startApp({ config: { oidc } })
  for (const conditions of [{ hd: 'example.com*' }, { email: 'ada@*' }, { sub: '1*' }]) {
    const answer = await createRule(conditions, google)
    expect([answer.statusCode, answer.json().errors?.[0].code]).toEqual([400, 'too_wide'])
  }
  expect((await createRule({ hd: 'example.com' }, google)).statusCode).toBe(201)
  await google.close()
})

describe('signing in', () => {
  test('in two tabs ends in the one that began later, not in none', async () => {
    const browser = createBrowser(provider, server)
    const first = await browser.authorize()
    const second = await browser.authorize()
    const lost = await browser.visit(first)
    expect([lost.statusCode, lost.body.includes('another tab')]).toEqual([400, true])
    expect((await browser.visit(second)).statusCode).toBe(302)
  })

  test('goes on when the page is loaded again after an outage of the provider', async () => {
    const browser = createBrowser(provider, server)
    const url = await browser.authorize()
    provider.intercept = (path, request) => {
      if (path === '/token') request.socket.destroy()
      return path === '/token'
    }
    expect((await browser.visit(url)).statusCode).toBe(503)
    provider.intercept = undefined
    expect((await browser.visit(url)).statusCode).toBe(302)
  })

  test('uses a changed client secret, as soon as it is known', async () => {
    const browser = createBrowser(provider, server)
    const signIn = await signInOf(server.app.kernel)
    signIn?.replaceSecrets(oidcWith('another'))
    expect((await browser.signIn()).statusCode).toBe(400)
    signIn?.replaceSecrets(oidcWith(clientSecret))
    expect((await browser.signIn()).statusCode).toBe(302)
  })
})

describe('back-channel logout', () => {
  test('by the session at the provider alone ends the sessions that began in it', async () => {
    const [one, two] = [await signedIn(), await signedIn()]
    const { id } = (await server.send('GET', '/v1/self', { headers: asPerson(one) })).json().session
    const sid = (await sessions.find(server.context.store.reader, id))?.person?.providerSessionId
    const token = await provider.sign({ sid, events: logoutEvent })
    expect((await logOut(token)).statusCode).toBe(200)
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200])
  })

  test('is sent by the provider when the person signs out there', async () => {
    const browser = await signedIn()
    const other = await signedIn()
    const headers = asPerson(browser)
    const { signOutUrl } = (await server.send('DELETE', '/v1/sessions/self', { headers })).json()
    const again = await browser.signIn()
    expect(again.statusCode).toBe(302)
    expect(await statusOf(browser)).toBe(200)
    const fetch = provider.server.fetchWith()
    const cookie = [...(browser.cookies.get(new URL(provider.issuer).host) ?? [])]
      .map((pair) => pair.join('='))
      .join('; ')
    const form = await fetch(signOutUrl, { headers: { cookie } })
    const set = form.headers.getSetCookie().map((line) => line.split(';')[0])
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(await form.text()) ?? []
    const left = await fetch(`${provider.issuer}/session/end/confirm`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: [cookie, ...set].join('; ') },
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    })
    expect(left.headers.get('location')).toBe(`${publicUrl}/console/`)
    expect([await statusOf(browser), await statusOf(other)]).toEqual([401, 200])
    const events = await readEvents(server.context.store.reader, systemLedgerId, {
      after: 0,
      limit: 1_000,
    })
    expect(events.at(-1)).toMatchObject({ changes: { reason: { to: 'provider_logout' } } })
  })

  test('has no caller make this server request the keys of the provider again and again', async () => {
    const { requests } = provider.server
    await logOut(await provider.sign({ sub: 'nobody', events: logoutEvent }))
    const before = requests.length
    const forged = await provider.sign({ sub: 'ada' })
    for (let attempt = 0; attempt < 5; attempt += 1) await logOut(forged)
    expect(requests.slice(before)).toEqual([])
  })
})
