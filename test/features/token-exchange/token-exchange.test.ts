import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { apiKeyTable } from '../../../packages/server/src/features/api-keys/stored.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import {
  exchangeLedgerId,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { columnsOf } from '../../../packages/server/src/kernel/storage/schema.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl } from '../../support/app/app.ts'
import {
  accessRulesUrl,
  exchangeParameters,
  sendForm,
  startWorkloadApp,
  type WorkloadApp,
} from '../../support/app/workloads.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { openTestStore } from '../../support/store/store.ts'
import { waitFor, waitUntil } from '../../support/waiting.ts'

let server: WorkloadApp

const stored = await openTestStore()

beforeEach(async () => {
  server = await startWorkloadApp({ stored })
})

const keysUrl = '/v1/projects/payments/jwt-keys'
const keyBody = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
const register = (secret: string, url = keysUrl) =>
  server.send('POST', url, { headers: { 'x-api-key': secret }, body: keyBody() })
const listWith = (secret: string) =>
  server.send('GET', keysUrl, { headers: { 'x-api-key': secret } })

test('a token becomes an API key that registers a key; the ledger says for whom', async () => {
  const { id } = await server.rule()
  const response = await server.exchange(server.issuer.token())
  expect(response.statusCode, response.body).toBe(200)
  const { access_token: secret, ...others } = response.json()
  expect(others).toEqual({
    issued_token_type: 'urn:pubring:token-type:api-key',
    token_type: 'N_A',
    expires_in: expect.any(Number),
  })
  expect(others.expires_in).toBeGreaterThan(290)
  expect(others.expires_in).toBeLessThanOrEqual(300)
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.headers['content-type']).toBe('application/json')

  const created = await register(secret)
  expect(created.statusCode).toBe(201)
  const { kid } = created.json()
  const jwks = await server.send('GET', `/v1/projects/${server.project.id}/.well-known/jwks.json`)
  expect(jwks.json().keys).toMatchObject([{ kid }])
  const self = await server.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': secret } })
  expect(self.json()).toEqual({
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
  const caller = await server.send('GET', '/v1/self', { headers: { 'x-api-key': secret } })
  expect(caller.json()).toEqual({
    type: 'api_key',
    name: 'orders, deploy',
    apiKeyId: self.json().id,
    grants: [{ role: 'writer', projectId: server.project.id }],
  })
  const workload = { ruleId: id, issuer: server.issuer.url, subject: 'repo:acme/orders' }
  const actor = { name: 'orders, deploy', apiKeyId: self.json().id, workload }
  const events = (await server.send('GET', '/v1/projects/payments/events')).json()
  expect(events.slice(-2)).toMatchObject([
    {
      type: 'token.exchanged',
      actor,
      subject: { type: 'api_key', id: self.json().id },
      changes: {
        role: { to: 'writer' },
        projectId: { to: server.project.id },
        expireTime: { to: self.json().expireTime },
        'claims.repository_id': { to: '74' },
        'claims.ref': { to: 'refs/heads/main' },
      },
    },
    { type: 'key.created', actor, subject: { type: 'key', id: kid } },
  ])
  const rule = (await server.send('GET', `${accessRulesUrl}/${id}`)).json()
  expect(rule.lastExchangeTime).toBe(self.json().createTime)
})

test('an exchange does not move the ledger that cached callers rest on', async () => {
  await server.rule()
  await server.rule({ project: undefined, allProjects: true, conditions: { ref: 'all' } })
  // The first one opens the ledger of exchanges for all projects.
  await server.exchangedKey({ ref: 'all' })
  const before = await server.context.store.heads([systemLedgerId])
  await server.exchangedKey()
  await server.exchangedKey({ ref: 'all' })
  expect(await server.context.store.heads([systemLedgerId])).toEqual(before)
})

test('exchanges for all projects are in a ledger of their own', async () => {
  await server.rule({ project: undefined, allProjects: true, role: 'reader' })
  const secret = await server.exchangedKey()
  expect((await listWith(secret)).statusCode).toBe(200)
  const url = `/v1/projects/${exchangeLedgerId}/events`
  const events = (await server.send('GET', url)).json()
  expect(events.at(-1)).toMatchObject({
    revision: events.length,
    type: 'token.exchanged',
    changes: { role: { to: 'reader' } },
  })
  expect((await server.send('GET', url, { headers: { 'x-api-key': secret } })).statusCode).toBe(404)
})

describe('the API key', () => {
  test('has the role and the project of the rule', async () => {
    await server.rule({ role: 'registrar' })
    const secret = await server.exchangedKey()
    const { kid } = (await register(secret)).json()
    const headers = { 'x-api-key': secret }
    const disable = { headers, body: { active: false } }
    const disabled = await server.send('PATCH', `${keysUrl}/${kid}`, disable)
    expect(disabled.json().code).toBe('insufficient_role')
    await server.send('POST', '/v1/projects', { body: { name: 'other' } })
    expect((await register(secret, '/v1/projects/other/jwt-keys')).statusCode).toBe(404)
    expect((await server.send('GET', '/v1/api-keys', { headers })).statusCode).toBe(403)
    expect((await server.send('GET', accessRulesUrl, { headers })).statusCode).toBe(403)
  })

  test.each([
    ['maxLifetime', { maxLifetime: 60 }, {}, 60],
    ['the end of the token', {}, { exp: 200 }, 200],
  ])('ends after %s', async (_name, members, claims, seconds) => {
    await server.rule(members)
    const end = 'exp' in claims ? { exp: Math.floor(server.clock.now() / 1_000) + claims.exp } : {}
    const secret = await server.exchangedKey(end)
    server.clock.advance((seconds - 2) * 1_000)
    expect((await listWith(secret)).statusCode).toBe(200)
    server.clock.advance(2_000)
    expect((await listWith(secret)).json().code).toBe('invalid_api_key')
  })

  test.each<[string, (url: string) => Promise<unknown>]>([
    ['deactivated', (url) => server.send('PATCH', url, { body: { active: false } })],
    ['narrowed', (url) => server.send('PATCH', url, { body: { conditions: { env: 'prod' } } })],
    ['given a weaker role', (url) => server.send('PATCH', url, { body: { role: 'reader' } })],
    ['given another audience', (url) => server.send('PATCH', url, { body: { audience: 'x' } })],
    ['deleted', (url) => server.send('DELETE', url)],
  ])('ends with the next request once its rule is %s', async (_name, change) => {
    const { id } = await server.rule()
    const secret = await server.exchangedKey()
    expect((await listWith(secret)).statusCode).toBe(200)
    await change(`${accessRulesUrl}/${id}`)
    expect((await listWith(secret)).json().code).toBe('invalid_api_key')
    expect((await register(secret)).json().code).toBe('invalid_api_key')
  })

  test('does not come back when its rule is activated again', async () => {
    const { id } = await server.rule()
    const secret = await server.exchangedKey()
    for (const active of [false, true]) {
      await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { active } })
    }
    expect((await listWith(secret)).json().code).toBe('invalid_api_key')
    expect((await listWith(await server.exchangedKey())).statusCode).toBe(200)
  })

  test('outlives a new name of its rule', async () => {
    const { id } = await server.rule()
    const secret = await server.exchangedKey()
    await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { name: 'other' } })
    expect((await listWith(secret)).statusCode).toBe(200)
  })

  test('ends with its project, whose name may pass to another', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'passing' } })
    await server.rule({ project: 'passing', conditions: { ref: 'passing' } })
    const secret = await server.exchangedKey({ ref: 'passing' })
    await server.send('DELETE', '/v1/projects/passing')
    const body = { name: 'passing' }
    await server.send('POST', '/v1/projects?release=true', { body })
    expect((await register(secret, '/v1/projects/passing/jwt-keys')).statusCode).toBe(401)
  })
})

describe('which rule applies', () => {
  test('of several that accept the token, one must be named', async () => {
    const { id } = await server.rule({ role: 'reader' })
    await server.rule({ conditions: { ref: 'refs/heads/main' } })
    expect((await server.exchange(server.issuer.token())).statusCode).toBe(400)
    const named = await server.exchange(server.issuer.token(), { rule: id })
    expect(named.statusCode).toBe(200)
    const headers = { 'x-api-key': named.json().access_token }
    const self = await server.send('GET', '/v1/api-keys/self', { headers })
    expect(self.json().role).toBe('reader')
  })

  test('one that does not accept the token is none', async () => {
    const { id } = await server.rule({ conditions: { ref: 'v*' } })
    await server.rule()
    expect((await server.exchange(server.issuer.token())).statusCode).toBe(200)
    expect((await server.exchange(server.issuer.token(), { rule: id })).statusCode).toBe(400)
    const upper = (await server.rule({ conditions: { ref: 'w' } })).id.toUpperCase()
    const token = server.issuer.token({ ref: 'w' })
    expect((await server.exchange(token, { rule: upper })).statusCode).toBe(200)
  })

  test('a change of the rules counts at once', async () => {
    const token = server.issuer.token()
    expect((await server.exchange(token)).statusCode).toBe(400)
    const { id } = await server.rule()
    expect((await server.exchange(token)).statusCode).toBe(200)
    await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { active: false } })
    expect((await server.exchange(token)).statusCode).toBe(400)
  })

  test('a rule that changes while its token is verified issues nothing', async () => {
    const { id } = await server.rule()
    let release = () => {}
    const fetching = new Promise<void>((resolve) => {
      server.issuer.pages.set('/jwks', (_request, response) => {
        release = () => response.end(JSON.stringify(server.issuer.jwks))
        resolve()
      })
    })
    const exchange = server.exchange(server.issuer.token())
    await fetching
    await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { role: 'reader' } })
    release()
    expect((await exchange).statusCode).toBe(400)
  })
})

describe('a token', () => {
  test('is accepted several times, unless the rule says once', async () => {
    const { id } = await server.rule()
    const token = server.issuer.token()
    expect((await server.exchange(token)).statusCode).toBe(200)
    expect((await server.exchange(token)).statusCode).toBe(200)
    await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { singleUse: true } })
    const statuses = async (one: string) => {
      const sent = Array.from({ length: 5 }, () => server.exchange(one))
      return (await Promise.all(sent)).map(({ statusCode }) => statusCode).sort()
    }
    expect(await statuses(token)).toEqual([200, 400, 400, 400, 400])
    const jti = randomUUID()
    expect(await statuses(server.issuer.token({ jti }))).toEqual([200, 400, 400, 400, 400])
    expect((await server.exchange(server.issuer.token({ jti }))).statusCode).toBe(400)
    expect((await server.exchange(server.issuer.token())).statusCode).toBe(200)
  })

  test('is used up for every rule of its issuer that accepts it once', async () => {
    const ids = []
    for (const role of ['reader', 'writer']) {
      ids.push((await server.rule({ role, singleUse: true })).id)
    }
    const [one = '', two = ''] = ids
    const token = server.issuer.token()
    expect((await server.exchange(token, { rule: one })).statusCode).toBe(200)
    expect((await server.exchange(token, { rule: two })).statusCode).toBe(400)
  })

  test('of an issuer whose clock is 60 s ahead or behind is accepted, beyond that not', async () => {
    await server.rule()
    const now = Math.floor(server.clock.now() / 1_000)
    const at = (start: number, end: number) =>
      server.exchange(server.issuer.token({ iat: now + start, nbf: now + start, exp: now + end }))
    expect((await at(58, 358)).statusCode).toBe(200)
    expect((await at(90, 390)).statusCode).toBe(400)
    expect((await at(-360, 0)).statusCode).toBe(400)
    const behind = await at(-60, 240)
    expect(behind.json().expires_in).toBeLessThanOrEqual(240)
  })

  test('signed with a new key of the issuer is accepted after it is fetched', async () => {
    await server.rule()
    await server.exchangedKey()
    server.issuer.rotate()
    server.clock.advance(30_000)
    await server.exchangedKey()
  })

  test.each(['at+jwt', 'JOSE', 'jwt', 'application/at+jwt', undefined])(
    'with the typ %s is accepted',
    async (typ) => {
      await server.rule()
      expect((await server.exchange(server.issuer.token({}, { typ }))).statusCode).toBe(200)
    },
  )

  test('is the form of RFC 8693, with further parameters and empty ones', async () => {
    await server.rule()
    const idToken = { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }
    const others = { client_id: 'ci', rule: '', scope: '' }
    const response = await server.exchange(server.issuer.token(), { ...idToken, ...others })
    expect(response.statusCode).toBe(200)
  })
})

describe('limits', () => {
  const limited = async (limit: number) => {
    await server.close()
    server = await startWorkloadApp({ config: { exchangeLimit: { limit, window: 60 } } })
    await server.rule()
  }

  test('an address that sends too many bad tokens gets 429 in the format of OAuth', async () => {
    await limited(3)
    for (let index = 0; index < 3; index += 1) await server.exchange('x')
    const response = await server.exchange(server.issuer.token({ ref: 'x' }))
    expect(response.statusCode).toBe(429)
    expect(response.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'Too many requests.',
    })
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
  })

  test('a good token from an address that sends bad ones is exchanged', async () => {
    await limited(3)
    for (let index = 0; index < 9; index += 1) {
      await server.exchange(index % 2 === 0 ? 'x' : server.issuer.token({ aud: 'other' }))
    }
    expect((await server.exchange(server.issuer.token())).statusCode).toBe(200)
    expect((await server.exchange('x')).statusCode).toBe(429)
  })

  test('a rule has a limit of its own, which refused tokens do not touch', async () => {
    const from = (address: string, token: string) =>
      sendForm(
        server,
        new URLSearchParams({ ...exchangeParameters, subject_token: token }).toString(),
        {
          'x-forwarded-for': address,
        },
      )
    await server.close()
    server = await startWorkloadApp({
      config: { exchangeLimit: { limit: 2, window: 60 } },
      http: { trustProxy: true },
    })
    await server.rule()
    for (let index = 0; index < 5; index += 1) {
      await from(`192.0.2.${index}`, server.issuer.token({ ref: 'x' }))
    }
    for (const status of [200, 200, 429]) {
      const response = await from(`198.51.100.${status}`, server.issuer.token())
      expect(response.statusCode).toBe(status)
    }
  })
})

test('what has expired is removed with later exchanges, and while there are none', async () => {
  await server.close()
  vi.useFakeTimers({ toFake: ['setInterval'] })
  server = await startWorkloadApp()
  await server.rule({ maxLifetime: 60, singleUse: true })
  const count = async (table: string) =>
    Number((await server.database.query(`select count(*) as n from ${table}`))[0]?.n)
  const exchanged = 'api_key where rule_id is not null'
  const day = 24 * 3_600_000
  for (let index = 0; index < 3; index += 1) await server.exchangedKey()
  expect(await count(exchanged)).toBe(3)
  server.clock.advance(400_000)
  await server.exchangedKey()
  expect(await count(exchanged)).toBe(4)
  server.clock.advance(day - 300_000)
  await server.exchangedKey()
  await waitUntil(async () => (await count(exchanged)) === 2)
  server.clock.advance(day + 400_000)
  vi.advanceTimersByTime(60_000)
  vi.useRealTimers()
  await waitUntil(async () => (await count(exchanged)) === 0)
  // A token that was used is remembered for good.
  expect(await count("event where type = 'token.used'")).toBe(5)
})

test('a database that is away is not a refusal', async () => {
  await server.rule()
  const { restore } = await server.database.destroy()
  const response = await server.exchange(server.issuer.token())
  await restore()
  expect(response.statusCode).toBe(503)
  expect(response.json().error).toBe('temporarily_unavailable')
  const exchangeAgain = async () => (await server.exchange(server.issuer.token())).statusCode
  await expect.poll(exchangeAgain).toBe(200)
})

describe('a row that was written into the database itself grants nothing:', () => {
  // The statements change all rows.
  beforeEach(async () => {
    await server.close()
    server = await startWorkloadApp()
  })

  // The server may be removing what has expired.
  const write = (statement: string, ...values: string[]) =>
    waitFor(() => server.database.execute(statement, ...values))

  test.each([
    ['another role', "update api_key set role = 'reader'"],
    ['all projects', 'update api_key set project_id = null'],
    ['a later end', "update api_key set expire_time = '2099-01-01T00:00:00.000Z'"],
    ['another subject', "update api_key set subject = 'x'"],
    ['another secret', 'update api_key set digest = ?'],
  ])('an exchanged API key with %s', async (_name, statement) => {
    await server.rule()
    const secret = await server.exchangedKey()
    const other = rememberSecret('an API key', newApiKeySecret())
    const values = statement.includes('?') ? [apiKeyDigest(other)] : []
    await write(`${statement} where rule_id is not null`, ...values)
    // Moves the system's ledger, so that the caller is read again.
    await server.rule({ conditions: { ref: 'x' } })
    for (const each of [secret, other]) {
      expect((await listWith(each)).json().code).toBe('invalid_api_key')
    }
  })

  test('an exchanged API key without its event', async () => {
    await server.rule()
    await server.exchangedKey()
    const other = rememberSecret('an API key', newApiKeySecret())
    const columns = columnsOf(apiKeyTable).filter((name) => !/^(id|digest)$/.test(name))
    await write(
      `insert into api_key (id, digest, ${columns}) select ?, ?, ${columns} from api_key where rule_id is not null`,
      newId(),
      apiKeyDigest(other),
    )
    expect((await listWith(other)).json().code).toBe('invalid_api_key')
  })

  test('an access rule with other conditions', async () => {
    const { id } = await server.rule({ conditions: { ref: 'x' } })
    const conditions = '{"repository_id":"74"}'
    await write('update access_rule set conditions = ?', conditions)
    const token = server.issuer.token()
    expect((await server.exchange(token)).statusCode).toBe(400)
    expect(await server.check(id, token)).toMatchObject({
      accepted: false,
      steps: [{}, {}, { step: 'rule_active', outcome: 'failed' }],
    })
    const patch = await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { name: 'other' } })
    expect(patch.json().code).toBe('storage_unavailable')
  })
})

test('a check names the other rules that accept the token', async () => {
  const conditions = { ref: 'refs/heads/twice' }
  const [first, second] = [await server.rule({ conditions }), await server.rule({ conditions })]
  await server.rule({ conditions, active: false })
  const token = server.issuer.token(conditions)
  expect((await server.exchange(token)).statusCode).toBe(400)
  const { accepted, steps } = await server.check(first.id, token)
  expect([accepted, Object(steps).at(-1)]).toEqual([
    true,
    {
      step: 'others',
      outcome: 'warned',
      detail: expect.stringMatching(
        new RegExp(`accept this token too: .*\\(${second.id}\\)\\. .* rule=${first.id}\\.$`),
      ),
    },
  ])
})

test('a check says when a token that is accepted once was used', async () => {
  const { id } = await server.rule({ singleUse: true })
  const token = server.issuer.token()
  const jtiStep = async () => {
    const { accepted, steps } = await server.check(id, token)
    return [accepted, Object(steps).find(({ step }: { step: string }) => step === 'jti')]
  }
  const unused = { step: 'jti', outcome: 'passed', detail: 'Its jti was not used before.' }
  expect(await jtiStep()).toEqual([true, unused])
  await server.exchange(token)
  const time = new Date(server.clock.now()).toISOString().slice(0, 16)
  expect(await jtiStep()).toEqual([
    false,
    {
      step: 'jti',
      outcome: 'failed',
      detail: expect.stringMatching(new RegExp(`^Its jti “[\\w-]{36}” was used at ${time}`)),
    },
  ])
})

test('a check says step by step what a rule makes of a token', async () => {
  const { id } = await server.rule()
  const token = server.issuer.token()
  expect(await server.check(id, token)).toMatchObject({
    accepted: true,
    steps: [
      { step: 'well_formed', outcome: 'passed' },
      { step: 'iss', outcome: 'passed' },
      { step: 'rule_active', outcome: 'passed' },
      { step: 'type', outcome: 'passed' },
      { step: 'signature', outcome: 'passed' },
      { step: 'exp', outcome: 'passed' },
      { step: 'nbf', outcome: 'passed' },
      { step: 'aud', outcome: 'passed' },
      { step: 'sub', outcome: 'passed' },
      { step: 'conditions', outcome: 'passed' },
      { step: 'jti', outcome: 'skipped' },
      { step: 'others', outcome: 'passed' },
    ],
    claims: { aud: publicUrl },
    expireTime: expect.any(String),
  })
  const unknown = await server.send('POST', `${accessRulesUrl}/${newId()}/checks`, {
    body: { token },
  })
  expect(unknown.json().code).toBe('access_rule_not_found')
})
