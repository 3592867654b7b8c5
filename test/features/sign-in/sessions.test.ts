import type { FastifyRequest } from 'fastify'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { accessRuleToRow } from '../../../packages/server/src/features/access-rules/stored.ts'
import { browserOf } from '../../../packages/server/src/features/sign-in/http/device.ts'
import { readSessions } from '../../../packages/server/src/features/sign-in/reads.ts'
import { sessionToRow } from '../../../packages/server/src/features/sign-in/stored.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { requireSameOrigin } from '../../../packages/server/src/kernel/http/request/headers.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { pageHeaders, startApp, type TestApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'
import {
  createPersonSession,
  issuer,
  ruleRecord,
  sessionRecord,
} from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'
import { waitUntil } from '../../support/waiting.ts'

let server: TestApp
let time = Date.now()
beforeAll(async () => {
  const clock = { now: () => time, monotonic: () => performance.now() }
  const oidc = { issuer, clientId: 'pubring', scopes: 'openid' }
  server = await startApp({ clock, config: { oidc } })
})

const cookieName = '__Secure-pubring-session'
const cookie = (secret: string) => ({ 'x-api-key': 'session', cookie: `${cookieName}=${secret}` })
const keys = '/v1/projects/payments/jwt-keys'

/** Signs in with an API key; returns the secret in the cookie. */
async function signIn(apiKey: string) {
  const answer = await server.send('POST', '/v1/sessions', { headers: { 'x-api-key': apiKey } })
  expect(answer.statusCode, answer.body).toBe(201)
  const [, secret = ''] = /=(pubring_\w+);/.exec(String(answer.headers['set-cookie'])) ?? []
  return { secret, answer, id: answer.json().id }
}

const send = (
  secret: string,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  body?: object,
) => server.send(method, url, { headers: pageHeaders(secret), ...(body && { body }) })

async function expectEnded(secret: string) {
  const answer = await send(secret, 'GET', keys)
  expect([answer.statusCode, answer.json().code]).toEqual([401, 'invalid_session'])
}

describe('signing in with an API key', () => {
  test('gives a cookie that scripts, other sites and plain http do not get', async () => {
    const { answer } = await signIn(await server.apiKey('writer'))
    expect(answer.headers['set-cookie']).toMatch(
      /^__Secure-pubring-session=pubring_\w{49}; Max-Age=43200; Path=\/base\/; HttpOnly; SameSite=Lax; Secure$/,
    )
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).not.toMatch(/pubring_/)
  })

  test.each([
    ['https://keys.example.com', /^__Host-pubring-session=.*; Path=\/; .*Secure$/],
    ['http://127.0.0.1:8080', /^pubring-session=.*; Path=\/; HttpOnly; SameSite=Lax$/],
  ])('at %s gives the strictest cookie that is possible there', async (url, expected) => {
    const other = await startApp({ config: { publicUrl: url }, http: { publicUrl: url } })
    const answer = await other.send('POST', '/v1/sessions')
    expect(answer.headers['set-cookie']).toMatch(expected)
    await other.close()
  })

  test('gives the rights of the API key, and its name in the ledger', async () => {
    const apiKey = await server.apiKey('writer')
    const { secret, id } = await signIn(apiKey)
    const self = (await send(secret, 'GET', '/v1/self')).json()
    expect(self).toMatchObject({
      type: 'api_key',
      name: 'a writer',
      grants: [{ role: 'writer' }],
      session: { id, current: true, name: 'a writer' },
    })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    expect((await send(secret, 'POST', keys, body)).statusCode).toBe(201)
    const events = await readEvents(server.context.store.reader, server.project.id, {
      after: 0,
      limit: 100,
    })
    expect(events.at(-1)?.actor).toEqual({ apiKeyId: self.apiKeyId, name: 'a writer' })
    const project = await send(secret, 'POST', '/v1/projects', { name: 'other' })
    expect(project.json().code).toBe('insufficient_role')
  })

  test('is refused with a session, which could renew itself for ever', async () => {
    const { secret } = await signIn(await server.apiKey('reader'))
    expect((await send(secret, 'POST', '/v1/sessions')).statusCode).toBe(400)
  })

  test('ends with the API key', async () => {
    const apiKey = await server.apiKey('reader')
    const { secret } = await signIn(apiKey)
    const { apiKeyId } = (await send(secret, 'GET', '/v1/self')).json()
    await server.send('PATCH', `/v1/api-keys/${apiKeyId}`, { body: { active: false } })
    await expectEnded(secret)
    await server.send('PATCH', `/v1/api-keys/${apiKeyId}`, { body: { active: true } })
    expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
    await server.send('DELETE', `/v1/api-keys/${apiKeyId}`)
    await expectEnded(secret)
    const sessions = await readSessions(server.context.store.reader, { apiKeyId })
    expect(sessions).toEqual([])
  })

  test('ends no later than the API key', async () => {
    const expireTime = new Date(time + 60_000).toISOString()
    const { answer } = await signIn(await server.apiKey('reader', undefined, expireTime))
    expect(answer.json().expireTime).toBe(expireTime)
  })
})

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
const webKit = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test.each([
  [firefox, 'Firefox on Windows'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${webKit} Chrome/143.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0) ${webKit} Chrome/143.0.0.0 Safari/537.36 Edg/143.0.0.0`,
    'Edge on Windows',
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${webKit} Chrome/143.0.0.0 Mobile Safari/537.36`,
    'Chrome on Android',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
    'Safari on iOS',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  ['curl/8.16.0', 'curl'],
  ['<script>', undefined],
])('the browser of %j is %s', (userAgent, name) => {
  expect(browserOf(userAgent)).toBe(name)
})

test('sessions are told apart by browser and address, which no event has', async () => {
  const apiKey = await server.apiKey('reader')
  const signInFrom = (remoteAddress: string, userAgent: string) =>
    server.inject({
      method: 'POST',
      url: '/v1/sessions',
      remoteAddress,
      headers: { 'x-api-key': apiKey, 'user-agent': userAgent },
    })
  await signInFrom('203.0.113.7', firefox)
  await signInFrom('2001:db8:1:2:3:4:5:6', 'unknown')
  const listed = await server.send('GET', '/v1/sessions', { headers: { 'x-api-key': apiKey } })
  const [first, second] = listed.json()
  expect(first).toMatchObject({
    kind: 'browser',
    client: 'Firefox on Windows',
    address: '203.0.113.7',
  })
  expect(second).toMatchObject({ kind: 'browser', address: '2001:db8:1:2::' })
  expect(second).not.toHaveProperty('client')
  const events = await server.send('GET', `/v1/history?subject=${first.id}`)
  expect(events.json()).toHaveLength(1)
  expect(events.body).not.toMatch(/Firefox|203\.0\.113/)
})

test('erasing a person erases where they signed in', async () => {
  const device = { client: 'Firefox on Windows', address: '203.0.113.8' }
  const { person } = await createPersonSession(server.context.store, device)
  const addresses = async () =>
    (await readSessions(server.context.store.reader, 'all')).map(({ address }) => address)
  expect(await addresses()).toContain(device.address)
  await server.send('DELETE', `/v1/people/${person.id}`)
  expect(await addresses()).not.toContain(device.address)
})

describe('a session', () => {
  test('needs X-Api-Key beside the cookie', async () => {
    const { secret } = await signIn(await server.apiKey('reader'))
    const headers = { cookie: `${cookieName}=${secret}`, 'x-api-key': '' }
    const answer = await server.send('GET', keys, { headers })
    expect([answer.statusCode, answer.json().code]).toEqual([401, 'missing_api_key'])
  })

  test('is not an API key, nor an API key a session', async () => {
    const apiKey = await server.apiKey('reader')
    const { secret } = await signIn(apiKey)
    const asKey = await server.send('GET', keys, { headers: { 'x-api-key': secret } })
    expect(asKey.json().code).toBe('invalid_api_key')
    await expectEnded(apiKey)
  })

  const attacks: [string, Record<string, string>][] = [
    [
      'by a form of another site',
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    ],
    [
      'by fetch of a sibling domain',
      { 'sec-fetch-site': 'same-site', origin: 'https://a.example.com' },
    ],
    ['by an old browser', { origin: 'https://evil.example' }],
    ['by a page without origin', { origin: 'null' }],
    [
      'with a forged Sec-Fetch-Site',
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    ],
    ['from another port', { origin: 'https://keys.example.com:8443' }],
    ['over http', { origin: 'http://keys.example.com' }],
  ]
  test.each(attacks)('is refused for a request %s', async (_name, headers) => {
    const { secret } = await signIn(await server.apiKey('writer'))
    for (const method of ['GET', 'POST'] as const) {
      const request = { headers: { ...cookie(secret), ...headers }, body: {} }
      const answer = await server.send(method, keys, request)
      expect([answer.statusCode, answer.json().code]).toEqual([403, 'cross_site_request'])
    }
  })

  test('of a server on this machine is for the pages of its own names, and no other text', () => {
    const request = (origin: string) =>
      ({ headers: { origin, 'sec-fetch-site': 'same-origin' } }) as FastifyRequest
    const own = 'http://127.0.0.1:8080'
    for (const origin of [own, 'http://localhost:8080', 'http://[::1]:8080']) {
      expect(() => requireSameOrigin(request(origin), own), origin).not.toThrow()
    }
    for (const origin of [
      'http://user@localhost:8080',
      'http://localhost:8080/x',
      'http://localhost',
    ]) {
      expect(() => requireSameOrigin(request(origin), own), origin).toThrow('pages of this server')
    }
  })

  test('is refused if there are two cookies of its name', async () => {
    const [own, tossed] = [await signIn(server.admin), await signIn(await server.apiKey('reader'))]
    for (const [first, second] of [
      [own, tossed],
      [tossed, own],
    ] as const) {
      const both = `${cookieName}=${first.secret}; ${cookieName}=${second.secret}`
      const headers = { 'x-api-key': 'session', cookie: both }
      const answer = await server.send('GET', keys, { headers })
      expect(answer.json().code).toBe('invalid_session')
    }
  })

  test.each(['pubring-session', '__secure-pubring-session', '__Host-pubring-session'])(
    'is not read from a cookie named %s, which others can set',
    async (name) => {
      const { secret } = await signIn(server.admin)
      const headers = { 'x-api-key': 'session', cookie: `${name}=${secret}` }
      expect((await server.send('GET', keys, { headers })).json().code).toBe('invalid_session')
    },
  )

  test('never gets the cached response of another', async () => {
    const [payments, other] = await Promise.all([
      signIn(await server.apiKey('reader', server.project.id)),
      signIn(server.admin),
    ])
    await server.send('POST', '/v1/projects', { body: { name: 'hidden' } })
    const hidden = '/v1/projects/hidden/jwt-keys'
    for (let n = 0; n < 4; n += 1)
      expect((await send(other.secret, 'GET', hidden)).statusCode).toBe(200)
    expect((await send(payments.secret, 'GET', hidden)).statusCode).toBe(404)
  })

  test('ends when it was not used for the idle timeout, and not while it is used', async () => {
    const { secret } = await signIn(server.admin)
    for (let n = 0; n < 4; n += 1) {
      time += 20 * 60_000
      expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
      await server.app.authenticator.flush()
    }
    time += 30 * 60_000
    await expectEnded(secret)
  })

  test('ends after its lifetime, however much it is used', async () => {
    const { secret } = await signIn(server.admin)
    const end = time + 12 * 3_600_000
    while (time + 20 * 60_000 < end) {
      time += 20 * 60_000
      expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
      await server.app.authenticator.flush()
    }
    time = end
    await expectEnded(secret)
  })

  test('ends by signing out, which clears the cookie', async () => {
    const { secret } = await signIn(server.admin)
    const answer = await send(secret, 'DELETE', '/v1/sessions/self')
    expect([answer.statusCode, answer.json()]).toEqual([200, {}])
    expect(answer.headers['set-cookie']).toMatch(/^__Secure-pubring-session=; Max-Age=0; /)
    await expectEnded(secret)
  })
})

describe('sessions', () => {
  test('are listed to their holders, and all of them to admins of all projects', async () => {
    const apiKey = await server.apiKey('admin', server.project.id)
    const [own, same, other] = [
      await signIn(apiKey),
      await signIn(apiKey),
      await signIn(server.admin),
    ]
    const listed = (await send(own.secret, 'GET', '/v1/sessions')).json()
    expect(
      listed.map(({ id, current }: { id: string; current: boolean }) => [id, current]),
    ).toEqual([
      [own.id, true],
      [same.id, false],
    ])
    const all = (await send(other.secret, 'GET', '/v1/sessions')).json()
    const ids = all.map(({ id }: { id: string }) => id)
    for (const { id } of [own, same, other]) expect(ids).toContain(id)
    expect(JSON.stringify(all)).not.toMatch(/digest|claims/)
  })

  test('are ended one by one, by their holder or an admin of all projects', async () => {
    const own = await signIn(await server.apiKey('writer'))
    const other = await signIn(server.admin)
    const refused = await send(own.secret, 'DELETE', `/v1/sessions/${other.id}`)
    expect([refused.statusCode, refused.json().code]).toEqual([404, 'session_not_found'])
    expect((await send(other.secret, 'DELETE', `/v1/sessions/${own.id}`)).statusCode).toBe(204)
    await expectEnded(own.secret)
    const again = await send(other.secret, 'DELETE', `/v1/sessions/${own.id}`)
    expect(again.json().code).toBe('session_not_found')
  })

  test('of one API key are at most 20: the one that was not used longest ends', async () => {
    const apiKey = await server.apiKey('reader')
    const first = await signIn(apiKey)
    for (let n = 1; n < 21; n += 1) {
      time += 1
      await signIn(apiKey)
    }
    await expectEnded(first.secret)
    const events = await readEvents(server.context.store.reader, systemLedgerId, {
      after: 0,
      limit: 10_000,
    })
    const ended = events.filter(({ subject }) => subject.id === first.id).at(-1)
    expect(ended?.changes).toEqual({ reason: { to: 'limit' } })
  })

  test('are 10,000 at most: then the one that was not used longest ends', async () => {
    const other = await startApp()
    const { apiKeyId } = (await other.send('GET', '/v1/self')).json()
    const columns = 'id, digest, api_key_id, create_time, expire_time, last_use_time'
    const now = new Date().toISOString()
    const later = '2999-01-01T00:00:00.000Z'
    await other.database.execute(
      `insert into session (${columns})
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
        select 's' || cast(i as text), 'd' || cast(i as text), 'k' || cast(i as text), ?, ?,
          case when i = 77 then '2998-01-01T00:00:00.000Z' else '${later}' end from n`,
      now,
      later,
    )
    expect((await other.send('POST', '/v1/sessions')).statusCode).toBe(201)
    const sessions = await readSessions(other.context.store.reader, 'all')
    expect(sessions).toHaveLength(10_000)
    expect(sessions.map(({ id }) => id)).not.toContain('s77')
    expect(sessions.filter((session) => session.apiKeyId === apiKeyId)).toHaveLength(1)
    await other.close()
  })

  test('that are not used end with an event, so that an altered last use revives none', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    let now = Date.now()
    const other = await startApp({
      clock: { now: () => now, monotonic: () => performance.now() },
    })
    const answer = await other.send('POST', '/v1/sessions')
    const [, secret = ''] = /=(pubring_\w+);/.exec(String(answer.headers['set-cookie'])) ?? []
    const [row = {}] = await other.database.query('select * from session')
    now += 32 * 60_000
    vi.advanceTimersByTime(60_000)
    vi.useRealTimers()
    await waitUntil(async () => (await other.database.query('select id from session')).length === 0)
    const revived = { ...row, last_use_time: new Date(now).toISOString() }
    await other.database.execute(
      `insert into session (${Object.keys(revived)}) values (${Object.keys(revived).map(() => '?')})`,
      ...(Object.values(revived) as string[]),
    )
    const sent = await other.send('GET', keys, { headers: pageHeaders(secret) })
    expect([sent.statusCode, sent.json().code]).toEqual([401, 'invalid_session'])
    const ledgers = await openLedgerReader(other.database.url)
    const [system] = await Array.fromAsync(verifyLedgers(ledgers))
    await ledgers.close()
    const subject = { type: 'session', id: row.id }
    expect(system?.differences).toMatchObject([
      { subject, detail: expect.stringMatching(/deleted/) },
    ])
    await other.close()
  })

  test('that have ended are removed by the next sign-in', async () => {
    const { id } = await signIn(server.admin)
    time += 13 * 3_600_000
    await signIn(server.admin)
    const left = await readSessions(server.context.store.reader, 'all')
    expect(left.map((session) => session.id)).not.toContain(id)
  })
})

/** The times of a session that begins now, by the server's clock. */
function fromNow() {
  const now = new Date(time).toISOString()
  const expireTime = new Date(time + 3_600_000).toISOString()
  return { createTime: now, lastUseTime: now, signInTime: now, expireTime }
}

describe('a person', () => {
  const rule = ruleRecord()
  beforeAll(() =>
    server.context.store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule }),
  )

  const signInPerson = () => createPersonSession(server.context.store, fromNow())

  test('acts under their own name, of which the chain holds nothing', async () => {
    const { secret, person, session } = await signInPerson()
    const self = (await send(secret, 'GET', '/v1/self')).json()
    expect(self).toMatchObject({ type: 'person', name: 'Ada Lovelace', person: { id: person.id } })
    await send(secret, 'POST', '/v1/projects', { name: 'by-a-person' })
    const last = async () =>
      (await send(secret, 'GET', '/v1/projects/by-a-person/events')).json()[0]
    const user = { issuer, subject: person.subject, sessionId: session.id }
    expect((await last()).actor).toEqual({ name: 'Ada Lovelace', user })
    const other = await signInPerson()
    await send(other.secret, 'DELETE', `/v1/people/${person.id}`)
    await expectEnded(secret)
    const events = await send(other.secret, 'GET', '/v1/projects/by-a-person/events')
    expect(events.json()[0].actor).toEqual({ name: person.subject, user })
    const people = await send(other.secret, 'GET', '/v1/people')
    expect(people.json().map(({ id }: { id: string }) => id)).not.toContain(person.id)
  })

  test('has the roles of all rules that their claims meet', async () => {
    const narrow = ruleRecord({
      role: 'reader',
      conditions: { groups: 'staff' },
      projectId: server.project.id,
    })
    const foreign = ruleRecord({ role: 'admin', issuer: 'https://other.example.com' })
    for (const one of [narrow, foreign]) {
      await server.context.store.commit(accessRuleChanges.createAccessRule, {
        origin: origin(),
        rule: one,
      })
    }
    const { secret } = await signInPerson()
    const grants = async () => (await send(secret, 'GET', '/v1/self')).json().grants
    expect(await grants()).toEqual([
      { role: 'admin' },
      { role: 'reader', projectId: server.project.id },
    ])
    await server.send('PATCH', `/v1/access-rules/${rule.id}`, { body: { active: false } })
    expect(await grants()).toEqual([{ role: 'reader', projectId: server.project.id }])
    expect((await send(secret, 'POST', '/v1/projects', { name: 'x' })).json().code).toBe(
      'insufficient_role',
    )
    await server.send('PATCH', `/v1/access-rules/${narrow.id}`, {
      body: { conditions: { groups: 'nobody' } },
    })
    await expectEnded(secret)
    await server.send('PATCH', `/v1/access-rules/${rule.id}`, { body: { active: true } })
    expect(await grants()).toEqual([{ role: 'admin' }])
  })

  test('loses all sessions at once', async () => {
    const { secret, person } = await signInPerson()
    const answer = await server.send('DELETE', `/v1/sessions?person=${person.id}`)
    expect(answer.statusCode).toBe(204)
    await expectEnded(secret)
  })
})

describe('a row that the ledger contradicts gives no access:', () => {
  const personal = ruleRecord({ conditions: { groups: 'tampered' } })

  async function insert(table: string, row: object) {
    const entries = Object.entries(row)
    const columns = entries.map(([name]) => `"${name}"`).join(', ')
    const marks = entries.map(() => '?').join(', ')
    const values = entries.map(([, value]) => value)
    await server.database.execute(`insert into ${table} (${columns}) values (${marks})`, ...values)
  }

  test('an inserted session', async () => {
    const secret = newApiKeySecret()
    const self = (await server.send('GET', '/v1/self')).json()
    await insert('session', sessionToRow(sessionRecord({ apiKeyId: self.apiKeyId }, secret)))
    await expectEnded(secret)
  })

  test('an inserted rule', async () => {
    await insert('access_rule', accessRuleToRow(personal))
    const { secret } = await createPersonSession(server.context.store, fromNow(), {
      groups: ['tampered'],
    })
    await expectEnded(secret)
  })

  test.each([
    ['the claims of a session', 'session', `person = replace(person, 'staff', 'platform')`],
    ['the end of a session', 'session', `expire_time = '2999-01-01T00:00:00.000Z'`],
    ['the time of the sign-in', 'session', `sign_in_time = '2999-01-01T00:00:00.000Z'`],
    ['a session whose person is not JSON', 'session', `person = '{'`],
    ['the role of a rule', 'access_rule', `role = 'writer'`],
    ['a rule for people made one for workloads', 'access_rule', `"for" = 'workloads'`],
    ['the conditions of a rule', 'access_rule', `conditions = '{"groups":"staff"}'`],
    ['a rule whose conditions are not JSON', 'access_rule', `conditions = '{'`],
  ])('%s', async (_name, table, set) => {
    const group = newId()
    const groups = [group, 'staff']
    const { store } = server.context
    const rule = ruleRecord({ conditions: { groups: group }, role: 'reader' })
    await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
    const { secret, session } = await createPersonSession(store, fromNow(), { groups })
    expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
    const id = table === 'session' ? session.id : rule.id
    await server.database.execute(`update ${table} set ${set} where id = ?`, id)
    // Another sign-in moves the head, as something does sooner or later.
    await signIn(server.admin)
    await expectEnded(secret)
  })
})
