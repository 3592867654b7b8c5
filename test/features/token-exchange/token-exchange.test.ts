import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  exchangeLedgerId,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl } from '../../support/app/app.ts'
import {
  accessRulesUrl,
  exchangeParameters,
  sendForm,
  startWorkloadApp,
} from '../../support/app/workloads.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { waitFor, waitUntil } from '../../support/waiting.ts'

const server = await startWorkloadApp()
const { issuer } = server
afterEach(async () => {
  for (const { id } of (await server.send('GET', accessRulesUrl)).json()) await changeRule(id)
})

const keysUrl = '/v1/projects/payments/jwt-keys'
const register = (secret: string, url = keysUrl) =>
  server.send('POST', url, {
    headers: { 'x-api-key': secret },
    body: { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem },
  })
const readWith = (secret: string, url = keysUrl) =>
  server.send('GET', url, { headers: { 'x-api-key': secret } })
/** Changes a rule, or deletes it. */
const changeRule = (id: string, body?: object) =>
  server.send(body ? 'PATCH' : 'DELETE', `${accessRulesUrl}/${id}`, { ...(body && { body }) })
const statusOf = async (token: string, rule?: string) =>
  (await server.exchange(token, { rule })).statusCode

test('a token becomes an API key that registers a key; the ledger says for whom', async () => {
  const { id } = await server.rule()
  const response = await server.exchange(issuer.token())
  expect(response.statusCode, response.body).toBe(200)
  const { access_token: secret, expires_in: seconds, ...others } = response.json()
  expect(others).toEqual({
    issued_token_type: 'urn:pubring:token-type:api-key',
    token_type: 'N_A',
  })
  expect(seconds).toBeGreaterThan(290)
  expect(seconds).toBeLessThanOrEqual(300)
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.headers['content-type']).toBe('application/json')

  const created = await register(secret)
  expect(created.statusCode).toBe(201)
  const { kid } = created.json()
  const self = (await readWith(secret, '/v1/api-keys/self')).json()
  expect(self).toEqual({
    id: expect.any(String),
    name: 'orders, deploy',
    role: 'writer',
    projectId: server.project.id,
    prefix: secret.slice(0, 12),
    active: true,
    createTime: expect.any(String),
    expireTime: expect.any(String),
    exchanged: { ruleId: id, subject: 'repo:acme/orders' },
  })
  expect((await readWith(secret, '/v1/self')).json()).toEqual({
    type: 'api_key',
    name: 'orders, deploy',
    apiKeyId: self.id,
    grants: [{ role: 'writer', projectId: server.project.id }],
  })
  const workload = { ruleId: id, issuer: issuer.url, subject: 'repo:acme/orders' }
  const actor = { name: 'orders, deploy', apiKeyId: self.id, workload }
  const events = (await server.send('GET', '/v1/projects/payments/events')).json()
  expect(events.slice(-2)).toMatchObject([
    {
      type: 'token.exchanged',
      actor,
      subject: { type: 'api_key', id: self.id },
      changes: {
        role: { to: 'writer' },
        projectId: { to: server.project.id },
        expireTime: { to: self.expireTime },
        'claims.repository_id': { to: '74' },
        'claims.ref': { to: 'refs/heads/main' },
      },
    },
    { type: 'key.created', actor, subject: { type: 'key', id: kid } },
  ])
  const rule = (await server.send('GET', `${accessRulesUrl}/${id}`)).json()
  expect(rule.lastExchangeTime).toBe(self.createTime)
})

test('exchanges for all projects are in a ledger of their own; none moves the system’s', async () => {
  // Cached callers are valid as long as the head of the system's ledger stays.
  await server.rule()
  const all = { project: undefined, allProjects: true, conditions: { ref: 'all' }, role: 'reader' }
  await server.rule(all)
  // The first one opens the ledger of exchanges for all projects.
  await server.exchangedKey({ ref: 'all' })
  const before = await server.context.store.heads([systemLedgerId])
  await server.exchangedKey()
  const secret = await server.exchangedKey({ ref: 'all' })
  expect(await server.context.store.heads([systemLedgerId])).toEqual(before)
  expect((await readWith(secret)).statusCode).toBe(200)
  const url = `/v1/projects/${exchangeLedgerId}/events`
  const events = (await server.send('GET', url)).json()
  expect(events.at(-1)).toMatchObject({
    revision: events.length,
    type: 'token.exchanged',
    changes: { role: { to: 'reader' } },
  })
  expect((await readWith(secret, url)).statusCode).toBe(404)
})

describe('the API key', () => {
  test('has the role and the project of the rule', async () => {
    await server.rule({ role: 'registrar' })
    const secret = await server.exchangedKey()
    const { kid } = (await register(secret)).json()
    const disable = { headers: { 'x-api-key': secret }, body: { active: false } }
    const disabled = await server.send('PATCH', `${keysUrl}/${kid}`, disable)
    expect(disabled.json().code).toBe('insufficient_role')
    await server.send('POST', '/v1/projects', { body: { name: 'other' } })
    expect((await register(secret, '/v1/projects/other/jwt-keys')).statusCode).toBe(404)
    expect((await readWith(secret, '/v1/api-keys')).statusCode).toBe(403)
  })

  test.each([
    ['maxLifetime', { maxLifetime: 60 }, {}, 60],
    ['the end of the token', {}, { exp: 200 }, 200],
  ])('ends after %s', async (_name, members, claims, seconds) => {
    await server.rule(members)
    const end = 'exp' in claims ? { exp: Math.floor(server.clock.now() / 1_000) + claims.exp } : {}
    const secret = await server.exchangedKey(end)
    server.clock.advance((seconds - 2) * 1_000)
    expect((await readWith(secret)).statusCode).toBe(200)
    server.clock.advance(2_000)
    expect((await readWith(secret)).json().code).toBe('invalid_api_key')
  })

  test.each<[string, object | undefined]>([
    ['deactivated', { active: false }],
    ['narrowed', { conditions: { env: 'prod' } }],
    ['given a weaker role', { role: 'reader' }],
    ['given another audience', { audience: 'x' }],
    ['deleted', undefined],
  ])('ends with the next request once its rule is %s', async (_name, change) => {
    const { id } = await server.rule()
    const secret = await server.exchangedKey()
    await changeRule(id, { name: 'other' })
    expect((await readWith(secret)).statusCode).toBe(200)
    await changeRule(id, change)
    expect((await readWith(secret)).json().code).toBe('invalid_api_key')
    expect((await register(secret)).json().code).toBe('invalid_api_key')
  })

  test('ends with its project, whose name may pass to another', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'passing' } })
    await server.rule({ project: 'passing' })
    const secret = await server.exchangedKey()
    await server.send('DELETE', '/v1/projects/passing')
    const body = { name: 'passing' }
    await server.send('POST', '/v1/projects?release=true', { body })
    expect((await register(secret, '/v1/projects/passing/jwt-keys')).statusCode).toBe(401)
  })
})

describe('which rule applies', () => {
  test('of several that accept the token, one must be named, as a check says', async () => {
    const conditions = { ref: 'refs/heads/twice' }
    const [{ id }, other] = [
      await server.rule({ conditions, role: 'reader' }),
      await server.rule({ conditions }),
    ]
    await server.rule({ conditions, active: false })
    const token = issuer.token(conditions)
    expect(await statusOf(token)).toBe(400)
    const { accepted, steps } = await server.check(id, token)
    expect([accepted, Object(steps).at(-1)]).toEqual([
      true,
      {
        step: 'others',
        outcome: 'warned',
        detail: expect.stringMatching(
          new RegExp(`accept this token too: .*\\(${other.id}\\)\\. .* rule=${id}\\.$`),
        ),
      },
    ])
    const named = await server.exchange(token, { rule: id.toUpperCase() })
    const self = await readWith(named.json().access_token, '/v1/api-keys/self')
    expect(self.json().role).toBe('reader')
  })

  test('one that does not accept the token is none', async () => {
    const { id } = await server.rule({ conditions: { ref: 'v*' } })
    await server.rule()
    expect(await statusOf(issuer.token())).toBe(200)
    expect(await statusOf(issuer.token(), id)).toBe(400)
  })

  test('a change of the rules counts at once', async () => {
    const token = issuer.token()
    expect(await statusOf(token)).toBe(400)
    const { id } = await server.rule()
    expect(await statusOf(token)).toBe(200)
    await changeRule(id, { active: false })
    expect(await statusOf(token)).toBe(400)
  })

  test('a rule that changes while its token is verified issues nothing', async () => {
    const { id } = await server.rule()
    issuer.rotate()
    server.clock.advance(30_000)
    let release = () => {}
    const fetching = new Promise<void>((resolve) => {
      issuer.pages.set('/jwks', (_request, response) => {
        release = () => response.end(JSON.stringify(issuer.jwks))
        resolve()
      })
    })
    const token = issuer.token()
    const status = statusOf(token)
    await fetching
    await changeRule(id, { role: 'reader' })
    release()
    issuer.pages.clear()
    expect(await status).toBe(400)
    expect(await statusOf(token)).toBe(200)
  })
})

describe('a token', () => {
  test('is accepted several times, unless the rule says once', async () => {
    const { id } = await server.rule()
    const token = issuer.token()
    for (const _time of [1, 2]) expect(await statusOf(token)).toBe(200)
    await changeRule(id, { singleUse: true })
    const statuses = async (one: string) =>
      (await Promise.all(Array.from({ length: 5 }, () => statusOf(one)))).sort()
    expect(await statuses(token)).toEqual([200, 400, 400, 400, 400])
    const jti = randomUUID()
    expect(await statuses(issuer.token({ jti }))).toEqual([200, 400, 400, 400, 400])
    expect(await statusOf(issuer.token({ jti }))).toBe(400)
    expect(await statusOf(issuer.token())).toBe(200)
    const other = await server.rule({ role: 'reader', singleUse: true })
    // The token is used up for every rule of its issuer.
    expect(await statusOf(issuer.token({ jti }), other.id)).toBe(400)
  })

  test('of an issuer whose clock is 60 s ahead or behind is accepted, beyond that not', async () => {
    await server.rule()
    const now = Math.floor(server.clock.now() / 1_000)
    const at = (start: number, end: number) =>
      server.exchange(issuer.token({ iat: now + start, nbf: now + start, exp: now + end }))
    expect((await at(58, 358)).statusCode).toBe(200)
    expect((await at(90, 390)).statusCode).toBe(400)
    expect((await at(-360, 0)).statusCode).toBe(400)
    expect((await at(-60, 240)).json().expires_in).toBeLessThanOrEqual(240)
  })

  test.each(['at+jwt', 'JOSE', 'application/at+jwt', undefined])(
    'with the typ %s is accepted',
    async (typ) => {
      await server.rule()
      expect(await statusOf(issuer.token({}, { typ }))).toBe(200)
    },
  )

  test('is the form of RFC 8693, with further parameters and empty ones', async () => {
    await server.rule()
    const idToken = { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }
    const others = { client_id: 'ci', rule: '', scope: '' }
    expect((await server.exchange(issuer.token(), { ...idToken, ...others })).statusCode).toBe(200)
  })
})

describe('limits', () => {
  const limited = async (limit: number) => {
    const config = { exchangeLimit: { limit, window: 60 } }
    const app = await startWorkloadApp({ config, http: { trustProxy: true } })
    await app.rule()
    return app
  }

  test('an address that sends too many bad tokens gets 429, and its good ones are exchanged', async () => {
    const app = await limited(3)
    for (let index = 0; index < 9; index += 1) {
      await app.exchange(index % 2 === 0 ? 'x' : app.issuer.token({ aud: 'other' }))
    }
    expect((await app.exchange(app.issuer.token())).statusCode).toBe(200)
    const refused = await app.exchange('x')
    expect(refused.statusCode).toBe(429)
    expect(refused.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'Too many requests.',
    })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  })

  test('a used token is refused before its transaction, and counts as a bad one', async () => {
    const app = await limited(3)
    await app.rule({ conditions: { ref: 'once' }, singleUse: true })
    const used = app.issuer.token({ ref: 'once' })
    expect((await app.exchange(used)).statusCode).toBe(200)
    const commit = vi.spyOn(app.context.store, 'commit')
    for (const status of [400, 400, 400, 429, 429]) {
      expect((await app.exchange(used)).statusCode).toBe(status)
    }
    expect(commit).not.toHaveBeenCalled()
    expect((await app.exchange(app.issuer.token({ ref: 'once' }))).statusCode).toBe(200)
    expect(commit).toHaveBeenCalledOnce()
  })

  test('a rule has a limit of its own, which refused and used tokens do not touch', async () => {
    const app = await limited(2)
    await app.rule({ conditions: { ref: 'once' }, singleUse: true })
    const from = async (address: string, token: string) => {
      const form = new URLSearchParams({ ...exchangeParameters, subject_token: token })
      return (await sendForm(app, form.toString(), { 'x-forwarded-for': address })).statusCode
    }
    for (let index = 0; index < 5; index += 1) {
      expect(await from(`192.0.2.${index}`, app.issuer.token({ ref: 'x' }))).toBe(400)
    }
    const used = app.issuer.token({ ref: 'once' })
    for (const [index, status] of [200, 400, 400, 400].entries()) {
      expect(await from(`192.0.2.${index}`, used)).toBe(status)
    }
    for (const [ref, statuses] of Object.entries({
      once: [200, 429],
      'refs/heads/x': [200, 200, 429],
    })) {
      for (const status of statuses) {
        expect(await from(`198.51.100.${status}`, app.issuer.token({ ref }))).toBe(status)
      }
    }
  })
})

test('what has expired is removed a day later', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  const app = await startWorkloadApp()
  await app.rule({ maxLifetime: 60, singleUse: true })
  const count = async (table: string) =>
    Number((await app.database.query(`select count(*) as n from ${table}`))[0]?.n)
  const exchanged = 'api_key where rule_id is not null'
  await app.exchangedKey()
  const [row = {}] = await app.database.query(`select * from ${exchanged}`)
  const columns = Object.keys(row)
  const values = columns.map((name) =>
    ['id', 'digest'].includes(name) ? `${name} || cast(i as text)` : name,
  )
  // One more than a single change removes.
  await app.database.execute(
    `insert into api_key (${columns})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
      select ${values} from n, ${exchanged}`,
  )
  app.clock.advance(400_000)
  await app.exchangedKey()
  app.clock.advance(24 * 3_600_000 - 300_000)
  vi.advanceTimersByTime(60_000)
  vi.useRealTimers()
  await waitUntil(async () => (await count(exchanged)) === 1)
  // A token that was used is remembered for good.
  expect(await count("event where type = 'token.used'")).toBe(2)
})

test('a database that is away is not a refusal', async () => {
  await server.rule()
  const { restore } = await server.database.destroy()
  const response = await server.exchange(issuer.token())
  await restore()
  expect(response.statusCode).toBe(503)
  expect(response.json().error).toBe('temporarily_unavailable')
  await expect.poll(() => statusOf(issuer.token())).toBe(200)
})

test('a rule whose conditions were altered in the database accepts nothing, and is not changed', async () => {
  const { id } = await server.rule({ conditions: { ref: 'x' } })
  const alter = 'update access_rule set conditions = ? where id = ?'
  await waitFor(() => server.database.execute(alter, '{"repository_id":"74"}', id))
  const token = issuer.token()
  expect(await statusOf(token)).toBe(400)
  expect(await server.check(id, token)).toMatchObject({
    accepted: false,
    steps: [{}, {}, { step: 'rule_active', outcome: 'failed' }],
  })
  expect((await changeRule(id, { name: 'other' })).json().code).toBe('storage_unavailable')
})

test('a check says step by step what a rule makes of a token, and when it was used', async () => {
  const { id } = await server.rule({ singleUse: true })
  const token = issuer.token()
  const before = [
    ...['well_formed', 'iss', 'rule_active', 'type', 'signature', 'exp', 'nbf', 'aud', 'sub'],
    ...['conditions', 'jti', 'others'],
  ]
  expect(await server.check(id, token)).toMatchObject({
    accepted: true,
    steps: before.map((step) => ({ step, outcome: 'passed' })),
    claims: { aud: publicUrl },
    expireTime: expect.any(String),
  })
  expect(await statusOf(token)).toBe(200)
  const time = new Date(server.clock.now()).toISOString().slice(0, 16)
  const { accepted, steps } = await server.check(id, token)
  expect([accepted, Object(steps).at(-1)]).toEqual([
    false,
    {
      step: 'jti',
      outcome: 'failed',
      detail: expect.stringMatching(new RegExp(`^Its jti “[\\w-]{36}” was used at ${time}`)),
    },
  ])
  const url = `${accessRulesUrl}/${newId()}/checks`
  const unknown = await server.send('POST', url, { body: { token } })
  expect(unknown.json().code).toBe('access_rule_not_found')
})
