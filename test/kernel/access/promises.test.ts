import { readFileSync } from 'node:fs'
import type { RouteOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { apiKeys, apiKeyToRow } from '../../../packages/server/src/features/api-keys/stored.ts'
import { keys, keyToRow } from '../../../packages/server/src/features/keys/stored.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import type { Role } from '../../../packages/server/src/kernel/contract.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import {
  eventHash,
  type NewEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { eventToRow } from '../../../packages/server/src/kernel/ledger/stored.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { pageHeaders, publicUrl, startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { newProject, registerKey } from '../../support/app/keys.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'
import { expectNoSecret, rememberSecret } from '../../support/secrets.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createPersonSession, issuer, ruleRecord } from '../../support/store/sessions.ts'
import { createProject, origin } from '../../support/store/store.ts'

const clock = stoppedClock()
const routes: RouteOptions[] = []
const limit = 50
const each = { limit, window: 60 }
const server = await startApp({
  clock,
  config: { oidc: { issuer, clientId: 'pubring', scopes: 'openid' } },
  http: { rateLimit: each, authFailureLimit: each, publicRateLimit: each },
  beforeRoutes: async (app) => void app.addHook('onRoute', (route) => void routes.push(route)),
})
const { store } = server.context
const rule = ruleRecord()
await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
const own = `/v1/projects/${server.project.name}`
const other = `/v1/projects/${(await createProject(store, 'other')).name}`
const { execute, query } = server.database
const people = { for: 'people', name: 'n', conditions: { groups: 'x' }, allProjects: true }

type Caller = Record<string, string>
const minute = 60_000

/** The cookie of an admin who signed in this long ago and has used the session since. */
async function session(ageMs = 16 * minute): Promise<Caller> {
  const now = clock.now()
  const at = (ms: number) => new Date(ms).toISOString()
  const times = {
    createTime: at(now),
    signInTime: at(now),
    lastUseTime: at(now + ageMs),
    expireTime: at(now + 720 * minute),
  }
  const { secret } = await createPersonSession(store, times)
  clock.advance(ageMs)
  return pageHeaders(secret)
}
const apiKey = async (role: Role, expireTime?: string): Promise<Caller> => ({
  'x-api-key': await server.apiKey(role, server.project.id, expireTime),
})
const stranger: Caller = { 'x-api-key': '' }

/** The status of the answer, and the code if it is an error. */
async function ask(
  caller: Caller,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  body?: object,
) {
  const answer = await server.send(method, url, { headers: caller, ...(body && { body }) })
  return answer.statusCode < 300 ? answer.statusCode : `${answer.statusCode} ${answer.json().code}`
}
const asks = '403 recent_sign_in_required'
const newKey = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
const published = async () =>
  (await server.inject({ url: `${own}/.well-known/jwks.json`, remoteAddress: '192.0.2.1' }))
    .json()
    .keys.map(({ kid }: { kid: string }) => kid)
const lastEvent = async (ledger = own) =>
  (await server.send('GET', `${ledger === '' ? '/v1' : ledger}/events?limit=200`)).json().at(-1)
const made = async (role: Role): Promise<{ id: string; apiKey: string }> => {
  const answer = await server.send('POST', '/v1/api-keys', { body: { name: 'n', role } })
  return answer.json()
}

/** The findings of `pubring check`. */
async function found(): Promise<string> {
  const ledgers = await openLedgerReader(server.database.url)
  const results = await Array.fromAsync(verifyLedgers(ledgers))
  await ledgers.close()
  return JSON.stringify(results)
}

async function insert(table: string, row: Record<string, unknown>): Promise<void> {
  const marks = Object.keys(row).map(() => '?')
  const values = Object.values(row) as (string | number | null)[]
  await execute(`insert into ${table} (${Object.keys(row)}) values (${marks})`, ...values)
}

/** Appends the event to the ledger, as a program would. */
async function insertEvent(ledgerId: string, event: NewEvent): Promise<void> {
  const [head = {}] = await query('select * from ledger where project_id = ?', ledgerId)
  const revision = Number(head.revision) + 1
  const content = { ledgerId, revision, ...origin(), ...event }
  const hash = eventHash(String(head.hash), content)
  await insert('event', { ...eventToRow({ ...content, hash }) })
  const update = 'update ledger set revision = ?, hash = ? where project_id = ?'
  await execute(update, revision, hash, ledgerId)
}

/** Inserts an API key of an admin. */
async function insertApiKey() {
  const secret = rememberSecret('an API key', newApiKeySecret())
  const members = { name: 'n', role: 'admin' } as const
  const record = apiKeyRecord(secret, new Date(clock.now()).toISOString(), members)
  await insert('api_key', { ...apiKeyToRow(record) })
  const mine: Caller = { 'x-api-key': secret }
  return { id: record.id, mine, created: apiKeys.eventOf('created', record) }
}

const attackers = [
  'stolen session',
  'stolen API key',
  'writer of the database',
  'stranger',
] as const
type Cells = Partial<Record<(typeof attackers)[number], () => Promise<void>>>

/** The cells of the table in SECURITY.md, by attempt and attacker. */
const attempts: Record<string, Cells> = {
  'read what is not public': {
    async 'stolen session'() {
      expect(await ask(await session(), 'GET', '/v1/api-keys')).toBe(200)
    },
    async 'stolen API key'() {
      const reader = await apiKey('reader')
      expect(await ask(reader, 'GET', `${own}/jwt-keys`)).toBe(200)
      expect(await ask(reader, 'GET', '/v1/history')).toBe('403 insufficient_role')
      expect(await ask(reader, 'GET', `${other}/jwt-keys`)).toBe('404 project_not_found')
    },
    async 'writer of the database'() {
      const { privateKey } = ecKey()
      const name = privateKey.export({ format: 'pem', type: 'pkcs8' })
      const submitted = await ask(await session(), 'POST', `${own}/jwt-keys`, { ...newKey(), name })
      expect(submitted).toBe('400 private_key_submitted')
      expectNoSecret({ database: await server.database.dump() })
    },
    async stranger() {
      const answer = await server.inject(`${own}/.well-known/jwks.json`)
      expect(answer.statusCode).toBe(200)
      const closed = routes.filter(({ config }) => config?.access !== undefined)
      expect(closed.length).toBeGreaterThan(50)
      for (const { method, url } of closed) {
        const path = url.replace(':projectIdOrName', server.project.name)
        const answer = await server.inject({ method: [method].flat()[0] as 'GET', url: path })
        expect(answer.statusCode, `${method} ${url}`).toBe(401)
      }
    },
  },
  'add a key that signs for a project': {
    async 'stolen session'() {
      expect(await ask(await session(), 'POST', `${own}/jwt-keys`, newKey())).toBe(201)
      const { type, actor } = await lastEvent()
      expect([type, actor.user.issuer]).toEqual(['key.created', issuer])
    },
    async 'stolen API key'() {
      const [registrar, reader] = [await apiKey('registrar'), await apiKey('reader')]
      expect(await ask(registrar, 'POST', `${own}/jwt-keys`, newKey())).toBe(201)
      expect(await ask(reader, 'POST', `${own}/jwt-keys`, newKey())).toBe('403 insufficient_role')
      const elsewhere = await ask(registrar, 'POST', `${other}/jwt-keys`, newKey())
      expect(elsewhere).toBe('404 project_not_found')
    },
    async 'writer of the database'() {
      const key = keyRecord(server.project.id)
      await insert('jwt_key', keyToRow(key))
      expect(await published()).not.toContain(key.id)
      expect(await found()).toContain(key.id)
      await insertEvent(server.project.id, keys.eventOf('created', key))
      // The key set is read again after half a second.
      clock.advance(1_000)
      expect(await published()).toContain(key.id)
      expect(await found()).not.toContain(key.id)
    },
    async stranger() {
      const before = await published()
      expect(await ask(stranger, 'POST', `${own}/jwt-keys`, newKey())).toMatch('401')
      expect(await published()).toEqual(before)
    },
  },
  'take keys or rights away': {
    async 'stolen session'() {
      const project = await newProject(server, `p-${newId()}`)
      const key = `${project.keys}/${await registerKey(server, {}, project.keys)}`
      const [first, second] = [await made('admin'), await made('reader')]
      const thief = await session()
      expect(await ask(thief, 'PATCH', key, { active: false })).toBe(asks)
      expect(await ask(thief, 'DELETE', key)).toBe(asks)
      expect(await ask(thief, 'PATCH', `/v1/projects/${project.id}`, { name: 'n' })).toBe(asks)
      expect(await ask(thief, 'PATCH', `/v1/api-keys/${first.id}`, { active: false })).toBe(200)
      expect(await ask(thief, 'DELETE', `/v1/api-keys/${second.id}`)).toBe(asks)
      expect(await ask(thief, 'DELETE', `/v1/projects/${project.id}`)).toBe(asks)
      expect(await ask(thief, 'PATCH', `/v1/access-rules/${rule.id}`, { active: false })).toBe(asks)
      expect(await ask(thief, 'DELETE', `/v1/access-rules/${rule.id}`)).toBe(asks)
    },
    async 'stolen API key'() {
      const [writer, registrar] = [await apiKey('writer'), await apiKey('registrar')]
      const key = `${own}/jwt-keys/${await registerKey(server)}`
      expect(await ask(registrar, 'PATCH', key, { active: false })).toBe('403 insufficient_role')
      expect(await ask(writer, 'PATCH', key, { active: false })).toBe(200)
      const { id } = await made('reader')
      expect(await ask(writer, 'DELETE', `/v1/api-keys/${id}`)).toBe('403 insufficient_role')
    },
    async 'writer of the database'() {
      const kid = await registerKey(server)
      expect(await published()).toContain(kid)
      await execute('delete from jwt_key where id = ?', kid)
      expect(await found()).toContain(kid)
    },
    async stranger() {
      const key = `${own}/jwt-keys/${await registerKey(server)}`
      expect(await ask(stranger, 'PATCH', key, { active: false })).toMatch('401')
      expect(await ask(stranger, 'DELETE', key)).toMatch('401')
      const pair = ecKey()
      const sub = await registerKey(server, { publicKeyPem: pair.publicKeyPem })
      const expireTime = new Date(clock.now()).toISOString()
      const [aud, exp] = [publicUrl, Math.floor(clock.now() / 1_000) + minute / 1_000]
      const iss = `${publicUrl}/v1/projects/${server.project.id}`
      const claims = { iss, aud, sub, exp, jti: newId(), expireTime }
      const header = { alg: 'ES256', typ: 'pubring-end+jwt' } as const
      const token = signToken(pair.privateKey, header, claims)
      expect(await ask(stranger, 'POST', `${key}/end`, { token })).toBe('400 invalid_proof')
      expect(await ask(stranger, 'POST', `${own}/jwt-keys/${sub}/end`, { token })).toBe(200)
      const active = await server.send('GET', `${own}/jwt-keys?active=true`)
      const kids = active.json().map(({ id }: { id: string }) => id)
      expect([kids.includes(sub), kids.includes(key.split('/').at(-1))]).toEqual([false, true])
    },
  },
  'give rights that last': {
    async 'stolen session'() {
      const thief = await session()
      const approval = { port: '50123', code_challenge: 'c'.repeat(43), state: 's'.repeat(22) }
      for (const [url, body] of [
        ['/v1/api-keys', { name: 'n', role: 'reader' }],
        ['/v1/access-rules', { ...people, role: 'reader' }],
        ['/sign-in/cli', { ...approval, client: 'ada@laptop' }],
      ] as const) {
        expect(await ask(thief, 'POST', url, body), url).toBe(asks)
      }
    },
    async 'stolen API key'() {
      const soon = new Date(clock.now() + minute).toISOString()
      const body = { name: 'n', role: 'reader', project: server.project.id }
      expect(await ask(await apiKey('writer'), 'POST', '/v1/api-keys', body)).toMatch('403')
      const admin = await apiKey('admin', soon)
      expect(await ask(admin, 'POST', '/v1/api-keys', body)).toBe('403 insufficient_lifetime')
      expect(await ask(admin, 'POST', '/v1/api-keys', { ...body, expireTime: soon })).toBe(201)
    },
    async 'writer of the database'() {
      const { id, mine, created } = await insertApiKey()
      expect(await ask(mine, 'GET', '/v1/self')).toBe('401 invalid_api_key')
      expect(await found()).toContain(id)
      await insertEvent(systemLedgerId, created)
      expect(await ask(mine, 'GET', '/v1/self')).toBe(200)
      expect(await found()).not.toContain(id)
    },
    async stranger() {
      const form = `grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token_type=urn:ietf:params:oauth:token-type:jwt&subject_token=e30.e30.x&access_rule=${newId()}`
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await server.send('POST', '/v1/token', { headers: type, body: form })
      expect([answer.statusCode, answer.json().access_token]).toEqual([400, undefined])
    },
  },
  'act under another name': {
    async 'stolen session'() {
      const thief = { ...(await session()), 'x-forwarded-user': 'root' }
      const body = { ...newKey(), actor: { name: 'root' } }
      expect(await ask(thief, 'POST', `${own}/jwt-keys`, body)).toBe('400 invalid_request')
      const { actor: self } = (await server.send('GET', '/v1/self', { headers: thief })).json()
      expect(await ask(thief, 'POST', `${own}/jwt-keys`, newKey())).toBe(201)
      expect((await lastEvent()).actor).toMatchObject({ user: expect.anything(), ...self })
    },
    async 'stolen API key'() {
      const thief = { ...(await apiKey('writer')), 'x-forwarded-user': 'root' }
      const { id } = (await server.send('GET', '/v1/api-keys/self', { headers: thief })).json()
      expect(await ask(thief, 'POST', `${own}/jwt-keys`, newKey())).toBe(201)
      expect((await lastEvent()).actor.apiKeyId).toBe(id)
    },
    async 'writer of the database'() {
      await registerKey(server)
      const { revision } = await lastEvent()
      const where = 'where project_id = ? and revision = ?'
      const [event = {}] = await query(`select * from event ${where}`, server.project.id, revision)
      const rename = `update event set actor_name = ? ${where}`
      await execute(rename, 'root', server.project.id, revision)
      expect(await found()).toMatch(/was altered or moved/)
      await execute(rename, String(event.actor_name), server.project.id, revision)
    },
  },
  stay: {
    async 'stolen session'() {
      for (const [last, most, extra] of [
        [0, 30, 1],
        [719, 720, 0],
      ] as const) {
        const caller = await session(last * minute)
        clock.advance((most - last - 1) * minute)
        expect(await ask(caller, 'GET', '/v1/self')).toBe(200)
        const other = await session(last * minute)
        clock.advance((most - last + extra) * minute)
        expect(await ask(other, 'GET', '/v1/self')).toBe('401 invalid_session')
      }
      const ended = await session()
      expect(await ask(ended, 'DELETE', '/v1/sessions/self')).toBe(200)
      expect(await ask(ended, 'GET', '/v1/self')).toBe('401 invalid_session')
    },
    async 'stolen API key'() {
      const expiring = await apiKey('reader', new Date(clock.now() + minute).toISOString())
      const { id, apiKey: secret } = await made('reader')
      const revoked = { 'x-api-key': secret }
      for (const key of [expiring, revoked]) expect(await ask(key, 'GET', '/v1/self')).toBe(200)
      await server.send('DELETE', `/v1/api-keys/${id}`)
      clock.advance(minute)
      for (const key of [expiring, revoked]) {
        expect(await ask(key, 'GET', '/v1/self')).toBe('401 invalid_api_key')
      }
    },
    async 'writer of the database'() {
      const { id, mine, created } = await insertApiKey()
      await insertEvent(systemLedgerId, created)
      expect(await ask(mine, 'GET', '/v1/self')).toBe(200)
      const { type, subject } = await lastEvent('')
      expect([type, subject.id]).toEqual(['api_key.created', id])
    },
  },
  'keep others out': {
    async 'stolen session'() {
      await expectLimit(await session(), await session(1))
    },
    async 'stolen API key'() {
      await expectLimit(await apiKey('reader'), await apiKey('reader'))
    },
    async 'writer of the database'() {
      const secret = await server.apiKey('reader')
      const promote = "update api_key set role = 'admin' where digest = ?"
      await execute(promote, apiKeyDigest(secret))
      expect(await ask({ 'x-api-key': secret }, 'GET', '/v1/self')).toBe('401 invalid_api_key')
      await execute(promote.replace('admin', 'reader'), apiKeyDigest(secret))
    },
    async stranger() {
      const from = (remoteAddress: string, key?: string) =>
        server.inject({
          url: key === undefined ? `${own}/.well-known/jwks.json` : '/v1/self',
          remoteAddress,
          headers: { 'x-api-key': key ?? '' },
        })
      for (let n = 0; n < limit; n += 1) {
        await from('192.0.2.9', 'x')
        await from('192.0.2.9')
      }
      expect((await from('192.0.2.9', 'x')).statusCode).toBe(429)
      expect((await from('192.0.2.9')).statusCode).toBe(429)
      expect((await from('192.0.2.9', server.admin)).statusCode).toBe(200)
      expect((await from('192.0.2.10')).statusCode).toBe(200)
    },
  },
}

/** The one has used up its share, and the other has its own. */
async function expectLimit(caller: Caller, another: Caller): Promise<void> {
  for (let n = 0; n < limit; n += 1) await ask(caller, 'GET', '/v1/self')
  expect(await ask(caller, 'GET', '/v1/self')).toBe('429 rate_limited')
  expect(await ask(another, 'GET', '/v1/self')).toBe(200)
}

test('SECURITY.md has a cell for each test, and each cell that promises something has one', () => {
  const text = readFileSync(new URL('../../../SECURITY.md', import.meta.url), 'utf8')
  const [, table = ''] = /^(\| \| stolen session[\s\S]*?)\n\n/m.exec(text) ?? []
  const [head = [], , ...rows] = table
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
  expect(head.slice(2, -1)).toEqual(attackers)
  const promised = rows.map(([, attempt, ...cells]) => [
    attempt,
    attackers.filter((_attacker, index) => cells[index] !== '–'),
  ])
  const tested = Object.entries(attempts).map(([name, cells]) => [name, Object.keys(cells)])
  expect(promised).toEqual(tested)
})

describe.each(Object.entries(attempts))('to %s', (_name, cells) => {
  test.each(Object.entries(cells))('with what a %s has', (_attacker, promise) => promise())
})
