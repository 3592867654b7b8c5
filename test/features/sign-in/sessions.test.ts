import type { FastifyRequest } from 'fastify'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import type { PeopleRule } from '../../../packages/server/src/features/access-rules/stored.ts'
import { browserOf } from '../../../packages/server/src/features/sign-in/http/device.ts'
import { readSessions } from '../../../packages/server/src/features/sign-in/reads.ts'
import { requireSameOrigin } from '../../../packages/server/src/kernel/http/request/headers.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { pageHeaders, startApp, type TestApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { createPersonSession, issuer, ruleRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'
import { waitUntil } from '../../support/waiting.ts'

const minute = 60_000
const clock = stoppedClock()
let server: TestApp
beforeAll(async () => {
  const oidc = { issuer, clientId: 'pubring', scopes: 'openid' }
  server = await startApp({ clock, config: { oidc } })
})

const cookieName = '__Secure-pubring-session'
const keys = '/v1/projects/payments/jwt-keys'

/** Signs in with an API key; returns the secret in the cookie. */
async function signIn(apiKey: string, app = server) {
  const answer = await app.send('POST', '/v1/sessions', { headers: { 'x-api-key': apiKey } })
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

/** Inserts sessions that are used all the time, but for `s77`. */
async function insertSessions(app: TestApp, apiKeyId: string, count: number) {
  const columns = 'id, digest, api_key_id, create_time, expire_time, last_use_time'
  const later = '2999-01-01T00:00:00.000Z'
  await app.database.execute(
    `insert into session (${columns})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      select 's' || cast(i as text), 'd' || cast(i as text), ?, ?, ?,
        case when i = 77 then '2998-01-01T00:00:00.000Z' else '${later}' end from n`,
    apiKeyId,
    new Date().toISOString(),
    later,
  )
}

async function expectEnded(secret: string) {
  const answer = await send(secret, 'GET', keys)
  expect([answer.statusCode, answer.json().code]).toEqual([401, 'invalid_session'])
}

/** The events about a record, newest first. */
const eventsOf = async (id: string, app = server) =>
  (await app.send('GET', `/v1/history?subject=${id}`)).json()

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
  })

  test('gives the rights of the API key, and its name in the ledger', async () => {
    const { secret, id } = await signIn(await server.apiKey('writer'))
    const self = (await send(secret, 'GET', '/v1/self')).json()
    expect(self).toMatchObject({
      type: 'api_key',
      name: 'a writer',
      grants: [{ role: 'writer' }],
      session: { id, current: true, name: 'a writer' },
    })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const { kid } = (await send(secret, 'POST', keys, body)).json()
    const [event] = await eventsOf(kid)
    expect(event.actor).toEqual({ apiKeyId: self.apiKeyId, name: 'a writer' })
    const project = await send(secret, 'POST', '/v1/projects', { name: 'other' })
    expect(project.json().code).toBe('insufficient_role')
    // It could renew itself for ever.
    expect((await send(secret, 'POST', '/v1/sessions')).statusCode).toBe(400)
  })

  test('ends with the API key', async () => {
    const expireTime = new Date(clock.now() + 60 * minute).toISOString()
    const { secret, answer } = await signIn(await server.apiKey('reader', undefined, expireTime))
    const { apiKeyId, expireTime: end } = answer.json()
    expect(end).toBe(expireTime)
    const url = `/v1/api-keys/${apiKeyId}`
    await server.send('PATCH', url, { body: { active: false } })
    await expectEnded(secret)
    await server.send('PATCH', url, { body: { active: true } })
    expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
    await server.send('DELETE', url)
    await expectEnded(secret)
    expect(await readSessions(server.context.store.reader, { apiKeyId })).toEqual([])
  })
})

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'

test.each([
  [firefox, 'Firefox on Windows'],
  ['(X11; Linux x86_64) Chrome/143.0.0.0 Safari/537.36', 'Chrome on Linux'],
  ['(Windows NT 10.0) Chrome/143.0.0.0 Safari/537.36 Edg/143.0.0.0', 'Edge on Windows'],
  ['(Linux; Android 10; K) Chrome/143.0.0.0 Mobile Safari/537.36', 'Chrome on Android'],
  ['(iPhone; CPU iPhone OS 18_7 like Mac OS X) Version/26.0 Safari/604.1', 'Safari on iOS'],
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
  const client = 'Firefox on Windows'
  expect(first).toMatchObject({ kind: 'browser', client, address: '203.0.113.7' })
  expect(second).toMatchObject({ kind: 'browser', address: '2001:db8:1:2::' })
  expect(second).not.toHaveProperty('client')
  const events = await eventsOf(first.id)
  expect(events).toHaveLength(1)
  expect(JSON.stringify(events)).not.toMatch(/Firefox|203\.0\.113/)
})

describe('a session', () => {
  test('needs X-Api-Key beside the cookie, and is no API key, nor an API key a session', async () => {
    const apiKey = await server.apiKey('reader')
    const { secret } = await signIn(apiKey)
    const codeOf = async (headers: Record<string, string>) =>
      (await server.send('GET', keys, { headers })).json().code
    const cookie = `${cookieName}=${secret}`
    expect(await codeOf({ cookie, 'x-api-key': '' })).toBe('missing_api_key')
    expect(await codeOf({ 'x-api-key': secret })).toBe('invalid_api_key')
    await expectEnded(apiKey)
  })

  const evil = 'https://evil.example'
  test.each<[string, Record<string, string>]>([
    ['by a form of another site', { 'sec-fetch-site': 'cross-site', origin: evil }],
    ['by a sibling domain', { 'sec-fetch-site': 'same-site', origin: 'https://a.example.com' }],
    ['by an old browser', { origin: evil }],
    ['by a page without origin', { origin: 'null' }],
    ['with a forged Sec-Fetch-Site', { 'sec-fetch-site': 'same-origin', origin: evil }],
    ['from another port', { origin: 'https://keys.example.com:8443' }],
    ['over http', { origin: 'http://keys.example.com' }],
  ])('is refused for a request %s', async (_name, attack) => {
    const { secret } = await signIn(server.admin)
    const headers = { 'x-api-key': 'session', cookie: `${cookieName}=${secret}`, ...attack }
    for (const method of ['GET', 'POST'] as const) {
      const answer = await server.send(method, keys, { headers, body: {} })
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
    for (const part of ['user@localhost:8080', 'localhost:8080/x', 'localhost']) {
      const origin = `http://${part}`
      expect(() => requireSameOrigin(request(origin), own), origin).toThrow('pages of this server')
    }
  })

  test('is refused if there are two cookies of its name, or others can set its cookie', async () => {
    const [own, tossed] = [await signIn(server.admin), await signIn(await server.apiKey('reader'))]
    const cookies = [
      `${cookieName}=${own.secret}; ${cookieName}=${tossed.secret}`,
      `${cookieName}=${tossed.secret}; ${cookieName}=${own.secret}`,
      ...['pubring-session', '__secure-pubring-session', '__Host-pubring-session'].map(
        (name) => `${name}=${own.secret}`,
      ),
    ]
    for (const cookie of cookies) {
      const answer = await server.send('GET', keys, { headers: { 'x-api-key': 'session', cookie } })
      expect(answer.json().code).toBe('invalid_session')
    }
  })

  test('never gets the cached response of another', async () => {
    const bound = await signIn(await server.apiKey('reader', server.project.id))
    const other = await signIn(server.admin)
    await server.send('POST', '/v1/projects', { body: { name: 'hidden' } })
    const hidden = '/v1/projects/hidden/jwt-keys'
    for (let n = 0; n < 4; n += 1)
      expect((await send(other.secret, 'GET', hidden)).statusCode).toBe(200)
    expect((await send(bound.secret, 'GET', hidden)).statusCode).toBe(404)
  })

  test('ends half an hour after its last use', async () => {
    const { secret } = await signIn(server.admin)
    for (const _use of [1, 2]) {
      clock.advance(20 * minute)
      expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
      await server.app.authenticator.flush()
    }
    clock.advance(30 * minute)
    await expectEnded(secret)
  })

  test('ends after its lifetime, however much it is used', async () => {
    const end = clock.now() + 720 * minute
    const { secret, answer } = await signIn(server.admin)
    expect(answer.json().expireTime).toBe(new Date(end).toISOString())
    while (clock.now() + 20 * minute < end) {
      clock.advance(20 * minute)
      expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
      await server.app.authenticator.flush()
    }
    clock.advance(end - clock.now())
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
    const [own, same] = [await signIn(apiKey), await signIn(apiKey)]
    const other = await signIn(server.admin)
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
      clock.advance(1)
      await signIn(apiKey)
    }
    await expectEnded(first.secret)
    const [ended] = await eventsOf(first.id)
    expect(ended.changes).toEqual({ reason: { to: 'limit' } })
  })

  test('of one API key begin 60 times a minute, which moves the ledger for nobody else', async () => {
    const apiKey = await server.apiKey('reader')
    for (let n = 0; n < 60; n += 1) await signIn(apiKey)
    const revisionOf = async () => (await server.send('GET', '/v1/history?limit=1')).json()[0]
    const before = await revisionOf()
    const refused = await server.send('POST', '/v1/sessions', { headers: { 'x-api-key': apiKey } })
    expect([refused.json().code, refused.headers['retry-after']]).toEqual(['rate_limited', '60'])
    expect(await revisionOf()).toEqual(before)
    await signIn(await server.apiKey('reader'))
    clock.advance(minute)
    await signIn(apiKey)
  })

  test('of a person begin 60 times a minute, however many logins a thief approves', async () => {
    const { store } = server.context
    const person = { subject: newId() }
    const approve = () => createPersonSession(store, { approvedBy: newId() }, person)
    for (let n = 0; n < 60; n += 1) await approve()
    await expect(approve()).rejects.toMatchObject({ code: 'rate_limited' })
    for (let n = 0; n < 60; n += 1) await createPersonSession(store, {}, person)
    const another = createPersonSession(store, {}, person)
    await expect(another).rejects.toMatchObject({ code: 'rate_limited' })
    await createPersonSession(store)
  })

  test('of the API keys of a project are 1,000 at most, and end no others', async () => {
    const other = await startApp()
    const owner = await other.apiKey('reader', other.project.id)
    const own = (
      await other.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': owner } })
    ).json()
    const unbound = await signIn(other.admin, other)
    await insertSessions(other, own.id, 1_000)
    await signIn(await other.apiKey('reader', other.project.id), other)
    const sessions = await readSessions(other.context.store.reader, 'all')
    const ids = sessions.map(({ id }) => id)
    expect([ids.length, ids.includes('s77'), ids.includes(unbound.id)]).toEqual([
      1_001,
      false,
      true,
    ])
  })

  test('are 10,000 at most: then the one that was not used longest ends', async () => {
    const other = await startApp()
    await insertSessions(other, 'k', 10_000)
    const { id } = await signIn(other.admin, other)
    const sessions = await readSessions(other.context.store.reader, 'all')
    const ids = sessions.map((session) => session.id)
    expect([ids.length, ids.includes('s77'), ids.includes(id)]).toEqual([10_000, false, true])
  })

  test('that are not used end with an event, so that an altered last use revives none', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    const own = stoppedClock()
    const other = await startApp({ clock: own })
    const { secret, id } = await signIn(other.admin, other)
    const [row = {}] = await other.database.query('select * from session')
    own.advance(32 * minute)
    vi.advanceTimersByTime(minute)
    vi.useRealTimers()
    await waitUntil(async () => (await other.database.query('select id from session')).length === 0)
    const revived = { ...row, last_use_time: new Date(own.now()).toISOString() }
    await other.database.execute(
      `insert into session (${Object.keys(revived)}) values (${Object.keys(revived).map(() => '?')})`,
      ...(Object.values(revived) as string[]),
    )
    const sent = await other.send('GET', keys, { headers: pageHeaders(secret) })
    expect([sent.statusCode, sent.json().code]).toEqual([401, 'invalid_session'])
    const ledgers = await openLedgerReader(other.database.url)
    const [system] = await Array.fromAsync(verifyLedgers(ledgers))
    await ledgers.close()
    expect(system?.differences).toMatchObject([
      { subject: { type: 'session', id }, detail: expect.stringMatching(/deleted/) },
    ])
  })
})

describe('a person', () => {
  const addRule = async (members: Partial<PeopleRule> = {}) => {
    const rule = ruleRecord(members)
    const { store } = server.context
    await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
    return `/v1/access-rules/${rule.id}`
  }
  let rule: string
  beforeAll(async () => {
    rule = await addRule()
  })

  function signInPerson(members: object = {}) {
    const now = new Date(clock.now()).toISOString()
    const expireTime = new Date(clock.now() + 60 * minute).toISOString()
    const times = { createTime: now, lastUseTime: now, signInTime: now, expireTime }
    return createPersonSession(server.context.store, { ...times, ...members })
  }

  test('acts under their own name, of which the chain holds nothing, until they are erased', async () => {
    const address = '203.0.113.8'
    const { secret, person, session } = await signInPerson({ address })
    const self = (await send(secret, 'GET', '/v1/self')).json()
    expect(self).toMatchObject({ type: 'person', name: 'Ada Lovelace', person: { id: person.id } })
    await send(secret, 'POST', '/v1/projects', { name: 'by-a-person' })
    const events = async () => (await server.send('GET', '/v1/projects/by-a-person/events')).json()
    const user = { issuer, subject: person.subject, sessionId: session.id }
    expect((await events())[0].actor).toEqual({ name: 'Ada Lovelace', user })
    expect(await server.database.dump()).toContain(address)
    await server.send('DELETE', `/v1/people/${person.id}`)
    await expectEnded(secret)
    expect((await events())[0].actor).toEqual({ name: person.subject, user })
    const people = (await server.send('GET', '/v1/people')).json()
    expect(people.map(({ id }: { id: string }) => id)).not.toContain(person.id)
    const sessions = await readSessions(server.context.store.reader, 'all')
    expect(sessions.filter((one) => one.address === address)).toEqual([])
  })

  test('has the roles of all rules that their claims meet', async () => {
    const { id: projectId } = server.project
    const narrow = await addRule({ role: 'reader', conditions: { groups: 'staff' }, projectId })
    await addRule({ issuer: 'https://other.example.com' })
    const { secret } = await signInPerson()
    const grants = async () => (await send(secret, 'GET', '/v1/self')).json().grants
    expect(await grants()).toEqual([{ role: 'admin' }, { role: 'reader', projectId }])
    await server.send('PATCH', rule, { body: { active: false } })
    expect(await grants()).toEqual([{ role: 'reader', projectId }])
    const created = await send(secret, 'POST', '/v1/projects', { name: 'x' })
    expect(created.json().code).toBe('insufficient_role')
    await server.send('PATCH', narrow, { body: { conditions: { groups: 'nobody' } } })
    await expectEnded(secret)
    await server.send('PATCH', rule, { body: { active: true } })
    expect(await grants()).toEqual([{ role: 'admin' }])
  })

  test('loses all sessions at once', async () => {
    const { secret, person } = await signInPerson()
    const answer = await server.send('DELETE', `/v1/sessions?person=${person.id}`)
    expect(answer.statusCode).toBe(204)
    await expectEnded(secret)
  })

  test.each([
    ['the claims of a session', 'session', `person = replace(person, 'platform', 'root')`],
    ['a rule whose conditions are not JSON', 'access_rule', `conditions = '{'`],
  ])('gets no access by %s in the database', async (_name, table, set) => {
    const changed = await addRule({ conditions: { groups: 'staff' }, role: 'reader' })
    await server.send('PATCH', rule, { body: { active: false } })
    const { secret, session } = await signInPerson()
    expect((await send(secret, 'GET', keys)).statusCode).toBe(200)
    const id = table === 'session' ? session.id : changed.split('/').at(-1)
    await server.database.execute(`update ${table} set ${set} where id = ?`, id ?? '')
    // Another sign-in moves the head, as something does sooner or later.
    await signIn(server.admin)
    await expectEnded(secret)
    await server.send('DELETE', changed)
    await server.send('PATCH', rule, { body: { active: true } })
  })
})
