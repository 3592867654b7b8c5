import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sessions } from '../../../packages/server/src/features/sign-in/stored.ts'
import { pageHeaders, publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { createBrowser, type TestBrowser } from '../../support/sign-in/browser.ts'
import {
  clientId,
  clientSecret,
  startProvider,
  type TestProvider,
} from '../../support/sign-in/provider.ts'

const host = new URL(publicUrl).host
const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }

let provider: TestProvider
let server: TestApp
let replica: TestApp

beforeAll(async () => {
  provider = await startProvider(
    `${publicUrl}/sign-in/callback`,
    {
      backchannel_logout_uri: `${publicUrl}/sign-in/back-channel-logout`,
      backchannel_logout_session_required: true,
    },
    async (_url, { body }) => {
      const { statusCode } = await post(String(body))
      return new Response(null, { status: statusCode })
    },
  )
  const scopes = 'openid profile email groups'
  const options = {
    fetch: provider.server.fetchWith(),
    config: { oidc: { issuer: provider.issuer, clientId, clientSecret, scopes } },
  }
  server = await startApp(options)
  replica = await startApp({ ...options, database: server.database })
  const rule = { for: 'people', name: 'n', conditions: { groups: 'platform' }, role: 'admin' }
  await server.send('POST', '/v1/access-rules', { body: { ...rule, allProjects: true } })
})
beforeEach(() => {
  const claims = { email: 'ada@example.com', email_verified: true, groups: ['platform'] }
  provider.person = { subject: 'ada', claims }
})

const asPerson = ({ cookies }: TestBrowser) =>
  pageHeaders(cookies.get(host)?.get('__Secure-pubring-session'))

async function signedIn(): Promise<TestBrowser> {
  const browser = createBrowser(provider, server)
  const answer = await browser.signIn()
  expect(answer.statusCode, answer.body).toBe(302)
  return browser
}

const statusOf = async (browser: TestBrowser, app = server) =>
  (await app.send('GET', '/v1/self', { headers: asPerson(browser) })).statusCode

const post = (payload: string) =>
  server.inject({
    method: 'POST',
    url: '/sign-in/back-channel-logout',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload,
  })

const logOut = (token: string) => post(String(new URLSearchParams({ logout_token: token })))

/** The last event of the system's ledger. */
const lastEvent = async () => (await server.send('GET', '/v1/history?limit=1')).json()[0]

test('signing out leads to the provider, with no token, and is told to the others by it', async () => {
  const [browser, other] = [await signedIn(), await signedIn()]
  const headers = asPerson(browser)
  const { signOutUrl } = (await server.send('DELETE', '/v1/sessions/self', { headers })).json()
  expect(await statusOf(browser)).toBe(401)
  const url = new URL(signOutUrl)
  expect(url.origin).toBe(new URL(provider.issuer).origin)
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: clientId,
    logout_hint: 'ada@example.com',
    post_logout_redirect_uri: `${publicUrl}/console/`,
  })
  expect((await browser.signIn()).statusCode).toBe(302)
  expect(await statusOf(browser)).toBe(200)
  const fetch = provider.server.fetchWith()
  const cookie = [...(browser.cookies.get(url.host) ?? [])].map((pair) => pair.join('=')).join('; ')
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
  expect((await lastEvent()).changes).toEqual({ reason: { to: 'provider_logout' } })
})

describe('a logout token', () => {
  test('of a person ends their sessions that began before it, and is accepted once', async () => {
    const [browser, second] = [await signedIn(), await signedIn()]
    provider.person.subject = 'grace'
    const other = await signedIn()
    const iat = Math.floor(Date.now() / 1_000) - 300
    expect((await logOut(await provider.sign({ sub: 'ada', events, iat }))).statusCode).toBe(200)
    expect(await statusOf(browser)).toBe(200)
    const token = await provider.sign({ sub: 'ada', events })
    const answer = await logOut(token)
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
    const statuses = [
      await statusOf(browser),
      await statusOf(second),
      await statusOf(other, replica),
    ]
    expect(statuses).toEqual([401, 401, 200])
    expect(await lastEvent()).toMatchObject({
      type: 'session.ended',
      actor: { name: 'OpenID provider' },
      changes: { reason: { to: 'provider_logout' } },
    })
    provider.person.subject = 'ada'
    const again = await signedIn()
    expect([(await logOut(token)).statusCode, await statusOf(again)]).toEqual([400, 200])
  })

  test('of a session at the provider ends the sessions that began in it', async () => {
    const [one, two] = [await signedIn(), await signedIn()]
    const { id } = (await server.send('GET', '/v1/self', { headers: asPerson(one) })).json().session
    const sid = (await sessions.find(server.context.store.reader, id))?.person?.providerSessionId
    expect((await logOut(await provider.sign({ sid, events }))).statusCode).toBe(200)
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200])
  })

  test.each<[string, Record<string, unknown>, string?]>([
    ['for another client', { aud: 'x' }],
    ['of another issuer', { iss: 'https://x' }],
    ['without the event', { events: undefined }],
    ['with a nonce: an ID token', { nonce: 'n' }],
    ['without sub and sid', { sub: undefined }],
    ['of another type', {}, 'at+jwt'],
    ['without jti', { jti: undefined }],
    ['that is 11 minutes old', { iat: Math.floor(Date.now() / 1_000) - 700 }],
  ])('%s ends nothing', async (_name, members, typ) => {
    const browser = await signedIn()
    const answer = await logOut(await provider.sign({ sub: 'ada', events, ...members }, typ))
    expect([answer.statusCode, answer.json()]).toEqual([400, { error: 'invalid_request' }])
    expect(await statusOf(browser)).toBe(200)
  })

  test('of another key ends nothing', async () => {
    const browser = await signedIn()
    const { privateKey } = ecKey()
    const forged = await provider.sign({ sub: 'ada', events }, 'logout+jwt', privateKey)
    for (const token of [forged, 'x']) expect((await logOut(token)).statusCode).toBe(400)
    expect(await statusOf(browser)).toBe(200)
  })

  test('does not have this server request the keys of the provider again and again', async () => {
    const { requests } = provider.server
    await logOut(await provider.sign({ sub: 'nobody', events }))
    const before = requests.length
    const forged = await provider.sign({ sub: 'ada' })
    for (let attempt = 0; attempt < 5; attempt += 1) await logOut(forged)
    expect(requests.slice(before)).toEqual([])
  })
})
