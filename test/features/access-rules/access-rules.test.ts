import { afterEach, describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import {
  platformPresets,
  sharedIssuers,
} from '../../../packages/server/src/features/access-rules/presets.ts'
import { requireSomeWorkloads } from '../../../packages/server/src/features/access-rules/workloads.ts'
import type { LedgerEvent } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { pageHeaders, publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { accessRulesUrl, startWorkloadApp } from '../../support/app/workloads.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { jwkOf } from '../../support/network/issuer.ts'
import { createPersonSession, ruleRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'

const oidc = { issuer: 'https://id.example.com', clientId: 'pubring', scopes: 'openid' }
const server = await startWorkloadApp({ config: { oidc } })

const workloads = {
  for: 'workloads',
  name: 'orders, deploy',
  issuer: 'https://issuer.example.com',
  conditions: { sub: 'orders' },
  role: 'registrar',
  project: 'payments',
}
const people = {
  for: 'people',
  name: 'platform team',
  conditions: { groups: 'platform' },
  role: 'admin',
  allProjects: true,
}
const create = (members: object) =>
  server.send('POST', accessRulesUrl, { body: { ...workloads, ...members } })
const createForPeople = (members: object) =>
  server.send('POST', accessRulesUrl, { body: { ...people, ...members } })
const urlOf = (answer: { json(): { id: string } }) => `${accessRulesUrl}/${answer.json().id}`
const patch = (url: string, body: object, headers = {}) =>
  server.send('PATCH', url, { body, headers })
const newJwks = (members = {}) => ({
  keys: [jwkOf(ecKey().privateKey, { kid: 'a', ...members })],
})

test('a rule is created, read, listed, changed and deleted', async () => {
  const created = await create({})
  const { notes, ...rule } = created.json()
  expect(created.statusCode).toBe(201)
  expect(notes).toEqual([expect.stringContaining('issuer.example.com')])
  expect(rule).toEqual({
    id: expect.any(String),
    for: 'workloads',
    name: 'orders, deploy',
    issuer: 'https://issuer.example.com',
    keySource: 'discovery',
    audience: publicUrl,
    conditions: { sub: 'orders' },
    role: 'registrar',
    projectId: server.project.id,
    allProjects: false,
    singleUse: false,
    maxLifetime: 900,
    active: true,
    createTime: expect.any(String),
    updateTime: rule.createTime,
  })
  const url = urlOf(created)
  expect(created.headers.location).toBe(`${publicUrl}${url}`)
  const read = await server.send('GET', url)
  expect(read.json()).toEqual(rule)
  expect(read.headers.etag).toBe(created.headers.etag)
  expect((await server.send('GET', accessRulesUrl)).json()).toContainEqual(rule)

  const headers = { 'if-match': String(read.headers.etag) }
  const members = { singleUse: true, maxLifetime: 60 }
  const body = { conditions: { sub: null, ref: 'v*' }, ...members }
  const changed = await patch(url, body, headers)
  expect(changed.json()).toMatchObject({ conditions: { ref: 'v*' }, ...members })
  expect((await server.send('DELETE', url, { headers })).json().code).toBe('precondition_failed')
  expect((await patch(url, { maxLifetime: 60 })).json()).toEqual(changed.json())
  const unnamed = await patch(url, { name: '' })
  expect(unnamed.json().errors).toMatchObject([{ pointer: '/name', code: 'too_short' }])
  expect((await server.send('DELETE', url)).statusCode).toBe(204)
  expect((await server.send('GET', url)).json().code).toBe('access_rule_not_found')
  expect((await server.send('DELETE', url)).json().code).toBe('access_rule_not_found')
})

test('the ledger holds every member, and the key material by its hash', async () => {
  const jwks = newJwks()
  const created = await create({ jwks, singleUse: true })
  expect(created.json().jwks).toEqual(jwks)
  const url = urlOf(created)
  await patch(url, { role: 'writer', active: false })
  await server.send('DELETE', url)
  const { id } = created.json()
  const all: LedgerEvent[] = (await server.send('GET', '/v1/events?limit=200')).json()
  const events = all.filter(({ subject }) => subject.id === id)
  const [first, updated] = events
  expect(events.map(({ type }) => type)).toEqual(
    ['created', 'updated', 'deleted'].map((verb) => `access_rule.${verb}`),
  )
  expect(first?.changes).toEqual({
    for: { to: 'workloads' },
    name: { to: 'orders, deploy' },
    issuer: { to: 'https://issuer.example.com' },
    keySource: { to: 'jwks' },
    jwksSha256: { to: expect.stringMatching(/^[0-9a-f]{64}$/) },
    audience: { to: publicUrl },
    conditions: { to: '{"sub":"orders"}' },
    role: { to: 'registrar' },
    projectId: { to: server.project.id },
    singleUse: { to: true },
    maxLifetime: { to: 900 },
    active: { to: true },
    state: { to: expect.any(String) },
  })
  expect(updated?.changes).toEqual({
    role: { from: 'registrar', to: 'writer' },
    active: { from: true, to: false },
    state: { to: expect.any(String) },
  })
})

describe('a rule that is written says what is found where the keys of its issuer are', () => {
  const { issuer } = server
  afterEach(() => {
    issuer.discovery = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }
  })

  test.each<[string, () => object, RegExp]>([
    ['a key', () => ({}), /^The issuer has 1 key for signatures\.$/],
    [
      'an address that is not https',
      () => {
        issuer.discovery.jwks_uri = 'http://10.0.0.1:6443/openid/v1/jwks'
        return {}
      },
      /^No key .* now: The address http:\/\/10\.0\.0\.1:6443\/openid\/v1\/jwks must begin with https/,
    ],
    [
      'keys that verify nothing',
      () => ({ jwks: newJwks({ use: 'enc' }) }),
      /has 0 keys for signatures\. “a” is not used/,
    ],
  ])('%s', async (_name, change, note) => {
    const created = await create({ issuer: issuer.url, ...change() })
    expect(created.json().notes).toEqual([expect.stringMatching(note)])
    const read = await server.send('GET', urlOf(created))
    expect(read.json()).not.toHaveProperty('notes')
    expect(read.headers.etag).toBe(created.headers.etag)
    const notesOf = async (body: object) => (await patch(urlOf(created), body)).json().notes
    expect(await notesOf({ name: 'n' })).toBeUndefined()
    expect(await notesOf({ active: false })).toBeUndefined()
    expect(await notesOf({ active: true })).toEqual(created.json().notes)
    expect(await notesOf({ active: true })).toBeUndefined()
  })

  test('that they were not found in time, if the issuer is slow', async () => {
    issuer.pages.set('/slow', () => undefined)
    const created = await create({ issuer: issuer.url, jwksUri: `${issuer.url}/slow` })
    expect(created.json().notes).toEqual([
      'No key of the issuer verifies a token now: They were not read within 3 seconds.',
    ])
  })

  test('nothing, if the search for them fails, which is logged', async () => {
    const log: string[] = []
    const broken = await startApp({
      fetch: () => Promise.reject(new TypeError('a fault of the search')),
      http: { logStream: { write: (line: string) => void log.push(line) } },
    })
    const created = await broken.send('POST', accessRulesUrl, { body: workloads })
    expect([created.statusCode, created.json().notes]).toEqual([201, undefined])
    expect(log.join('')).toContain('a fault of the search')
  })

  test('nothing, if its keys are those of the project', async () => {
    const own = { keySource: 'project', conditions: {} }
    const created = await create({
      issuer: `${publicUrl}/v1/projects/${server.project.id}`,
      ...own,
    })
    expect([created.statusCode, created.json().notes]).toEqual([201, undefined])
  })
})

describe('a rule for people', () => {
  test('has the issuer that is configured, and never becomes one for workloads', async () => {
    const created = await createForPeople({ issuer: oidc.issuer })
    const rule = created.json()
    expect(rule).toEqual({
      ...people,
      id: expect.any(String),
      issuer: oidc.issuer,
      active: true,
      createTime: expect.any(String),
      updateTime: rule.createTime,
    })
    const url = urlOf(created)
    const change = { conditions: { groups: null, sub: 'ada' }, role: 'reader' }
    expect((await patch(url, change)).json()).toMatchObject({
      ...{ conditions: { sub: 'ada' }, role: 'reader' },
    })
    const refused = await patch(url, { for: 'workloads' })
    expect(refused.json().errors).toMatchObject([{ pointer: '/for', code: 'unknown_field' }])
    expect((await server.send('DELETE', url)).statusCode).toBe(204)
  })

  const workloadMembers: [string, unknown][] = [
    ['keySource', 'discovery'],
    ['jwksUri', 'https://issuer.example.com/keys'],
    ['jwks', { keys: [] }],
    ['audience', 'orders'],
    ['singleUse', true],
    ['maxLifetime', 60],
  ]
  test('is rejected with any member of workloads, each of which is named', async () => {
    const faultsOf = (members: typeof workloadMembers) =>
      members.map(([name]) => ({ pointer: `/${name}`, code: 'contradictory' }))
    const answer = await createForPeople(Object.fromEntries(workloadMembers))
    expect(answer.json()).toMatchObject({ status: 400, errors: faultsOf(workloadMembers) })
    const changeable = workloadMembers.slice(1)
    const patched = await patch(urlOf(await createForPeople({})), Object.fromEntries(changeable))
    expect(patched.json()).toMatchObject({ status: 400, errors: faultsOf(changeable) })
  })

  test.each<[string, object, string]>([
    ['of another issuer', { issuer: 'https://issuer.example.com' }, 'contradictory'],
    ['that everyone meets', { conditions: { sub: '*' } }, 'too_wide'],
    ['on the client alone, which all share', { conditions: { aud: 'pubring' } }, 'too_wide'],
    ['for nobody that is known', { for: 'robots' }, 'unknown_value'],
    ['that does not say for whom', { for: undefined }, 'required'],
  ])('%s is rejected', async (_name, members, code) => {
    const answer = await createForPeople(members)
    expect(answer.json()).toMatchObject({ status: 400, errors: [{ code }] })
  })

  test('is rejected while people cannot sign in, and with a pattern where anyone can', async () => {
    const codeAt = async (app: TestApp, conditions: object) => {
      const answer = await app.send('POST', accessRulesUrl, { body: { ...people, conditions } })
      return answer.json().errors?.[0].code
    }
    expect(await codeAt(await startApp(), people.conditions)).toBe('contradictory')
    const google = { ...oidc, issuer: 'https://accounts.google.com' }
    const app = await startApp({ config: { oidc: google } })
    for (const conditions of [people.conditions, { hd: 'example.com*' }, { email: 'ada@*' }]) {
      expect(await codeAt(app, conditions)).toBe('too_wide')
    }
    expect(await codeAt(app, { hd: 'example.com' })).toBeUndefined()
  })

  test('says whose claims meet it, from claims or an ID token', async () => {
    const url = urlOf(await createForPeople({}))
    const check = async (body: object) =>
      (await server.send('POST', `${url}/checks`, { body })).json()
    const met = { iss: oidc.issuer, groups: ['staff', 'platform'] }
    expect(await check({ claims: met })).toMatchObject({
      accepted: true,
      steps: ['iss', 'rule_active', 'conditions'].map((step) => ({ step, outcome: 'passed' })),
    })
    const unmet = await check({ claims: { ...met, groups: ['staff'] } })
    expect(unmet).toMatchObject({ accepted: false })
    expect(unmet.steps.at(-1)).toMatchObject({ step: 'conditions', outcome: 'failed' })
    const foreign = await check({ claims: { ...met, iss: 'https://issuer.example.com' } })
    expect(foreign.steps).toMatchObject([{ step: 'iss', outcome: 'failed' }])
    const token = server.issuer.token(met)
    const ofToken = await check({ token })
    expect(ofToken).toMatchObject({ accepted: true, claims: met })
    expect(ofToken.steps).toContainEqual(
      expect.objectContaining({ step: 'signature', outcome: 'skipped' }),
    )
    for (const body of [{}, { token, claims: met }]) {
      expect(await check(body)).toMatchObject({ status: 400, errors: [{ pointer: '/claims' }] })
    }
    await patch(url, { active: false })
    expect((await check({ claims: met })).steps.at(-1)).toMatchObject({ step: 'rule_active' })
  })
})

test('where the keys of the issuer cannot be read, a check compares everything but the signature', async () => {
  const { issuer } = server
  const { id } = await server.rule({ jwksUri: `${issuer.url}/none` })
  const report = await server.check(id, issuer.token())
  expect(report).toMatchObject({ accepted: false })
  expect(report).not.toHaveProperty('expireTime')
  const steps = Object(report.steps) as { step: string; outcome: string; detail: string }[]
  expect(steps.find(({ step }) => step === 'signature')).toEqual({
    step: 'signature',
    outcome: 'skipped',
    detail: expect.stringMatching(/^The signature was not checked\. .*status 404/),
  })
  expect(steps.some(({ outcome }) => outcome === 'failed')).toBe(false)
  expect(steps.at(-1)?.step).toBe('jti')
  const unmet = await server.check(id, issuer.token({ repository_id: '75' }))
  expect(Object(unmet.steps).at(-1)).toMatchObject({ step: 'conditions', outcome: 'failed' })
  expect((await server.exchange(issuer.token(), { rule: id })).statusCode).toBe(400)
})

test('an auditor, a person or a workload, reads all projects and never one alone', async () => {
  const auditing = { role: 'auditor', project: undefined, allProjects: true }
  for (const make of [create, createForPeople]) {
    const created = await make(auditing)
    expect(created.json()).toMatchObject({ role: 'auditor', allProjects: true })
    expect(created.json()).not.toHaveProperty('projectId')
    const bound = { project: 'payments', allProjects: undefined }
    const refused = await make({ ...auditing, ...bound })
    expect(refused.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
    const url = urlOf(await make({ ...bound, role: 'writer' }))
    const patched = await patch(url, { role: 'auditor' })
    expect(patched.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
  }
})

describe('an attack', () => {
  test('exchanges no token under a rule for people, whatever it says', async () => {
    const { store } = server.context
    const conditions = { repository_id: '74' }
    const rule = ruleRecord({ issuer: server.issuer.url, conditions, role: 'writer' })
    await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
    const token = server.issuer.token()
    for (const id of [undefined, rule.id]) {
      expect((await server.exchange(token, { rule: id })).statusCode).toBe(400)
    }
    const { id } = await server.rule({ conditions })
    expect((await server.exchange(token)).statusCode).toBe(200)
    for (const each of [id, rule.id]) await server.send('DELETE', `${accessRulesUrl}/${each}`)
  })

  test('signs no person in under a rule for workloads, whatever it says', async () => {
    const { store } = server.context
    const conditions = { groups: 'intruders' }
    const created = await create({ issuer: oidc.issuer, conditions, role: 'writer' })
    expect(created.statusCode, created.body).toBe(201)
    const members = { subject: 'eve', groups: ['intruders'] }
    const { secret } = await createPersonSession(store, {}, members)
    const answer = await server.inject({ url: '/v1/self', headers: pageHeaders(secret) })
    expect(answer.json().code).toBe('invalid_session')
  })

  test('checks no claims in place of the token of a workload', async () => {
    const body = { claims: { sub: 'orders' } }
    const answer = await server.send('POST', `${urlOf(await create({}))}/checks`, { body })
    expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/token' }] })
  })
})

const long = 'a'.repeat(1025)

describe('a rule is rejected', () => {
  test.each<[string, object, string, detail?: RegExp]>([
    ['without a project', { project: undefined }, 'required'],
    ['with a project and all', { allProjects: true }, 'required'],
    ['for an admin', { role: 'admin' }, 'too_wide'],
    ['without an issuer', { issuer: undefined }, 'required'],
    ['without conditions', { conditions: undefined }, 'required'],
    [
      'on issuer and audience alone',
      { conditions: { '/iss': 'x', aud: 'y', sub: '*' } },
      'too_wide',
    ],
    ['with a null condition', { conditions: { sub: null } }, 'wrong_type'],
    [
      'with a list as condition',
      { conditions: { sub: ['a'] } },
      'wrong_type',
      /^conditions\/sub must be a string or a number or a boolean, not an array\.$/,
    ],
    ['with a star inside', { conditions: { sub: 'a*b' } }, 'condition_invalid'],
    ['with a lifetime of 901 seconds', { maxLifetime: 901 }, 'out_of_range'],
    ['with a lifetime of 59 seconds', { maxLifetime: 59 }, 'out_of_range'],
    ['with a plain http issuer', { issuer: 'http://issuer.test' }, 'address_invalid'],
    ['with an issuer that is a name', { issuer: 'kubernetes' }, 'address_invalid'],
    [
      'with the address of the discovery document',
      { issuer: 'https://issuer.test/.well-known/openid-configuration' },
      'address_invalid',
      /^issuer is the iss of the tokens.* Is it https:\/\/issuer\.test\?$/,
    ],
    [
      'with a blank before the issuer',
      { issuer: ' https://issuer.test' },
      'address_invalid',
      /white space/,
    ],
    [
      'with capitals in the host',
      { issuer: 'https://Issuer.test/Tenant' },
      'address_invalid',
      /capital letters in its host/,
    ],
    ['with an issuer with a query', { issuer: 'https://issuer.test/?a' }, 'address_invalid'],
    ['with keys at plain http', { jwksUri: 'http://a.test/jwks' }, 'address_invalid'],
    ['with credentials in the address', { jwksUri: 'https://a:b@a.test' }, 'address_invalid'],
    ['with two sources', { jwksUri: 'https://a.test', jwks: { keys: [] } }, 'contradictory'],
    ['with a source that is missing', { keySource: 'jwks' }, 'contradictory'],
    ['with a JWKS that is a list', { jwks: [] }, 'wrong_type'],
    ['with an empty audience', { audience: '' }, 'too_short', /^audience is empty\./],
    ['with a long audience', { audience: long }, 'too_long', /has 1025 characters; at most 1024 /],
    ['with a long issuer', { issuer: long }, 'too_long', /^issuer has 1025 characters;/],
    ['with NUL in the issuer', { issuer: '\0' }, 'text_invalid', /^issuer .* control characters/],
    ['with a long name', { name: 'n'.repeat(256) }, 'too_long', /^name has 256 characters;/],
    [
      'with the long name of a claim',
      { conditions: { [long]: 'a' } },
      'condition_invalid',
      /^The name of a claim has 1025 characters;/,
    ],
    [
      'with a long condition',
      { conditions: { sub: long } },
      'condition_invalid',
      /^The condition on “sub” has 1025 characters;/,
    ],
    [
      'with half a character in a condition',
      { conditions: { sub: '\ud800' } },
      'condition_invalid',
      /“sub” has half of a surrogate pair/,
    ],
    ['with an empty name', { name: ' ' }, 'too_short'],
    ['with an unknown field', { audiences: [] }, 'unknown_field'],
  ])('%s', async (_name, members, code, detail = /./) => {
    const response = await create(members)
    expect(response.json()).toMatchObject({
      status: 400,
      errors: [{ code, detail: expect.stringMatching(detail) }],
    })
  })

  test('for a project that does not exist', async () => {
    expect((await create({ project: 'nobody' })).json().code).toBe('project_not_found')
  })

  test('with a private key in its JWKS, which is blocked', async () => {
    const { privateKey, publicKeyPem } = ecKey()
    const jwks = { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'a' }] }
    expect((await create({ jwks })).json().code).toBe('private_key_submitted')
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem }
    const response = await server.send('POST', '/v1/projects/payments/jwt-keys', { body })
    expect(response.json().code).toBe('compromised_key')
  })
})

describe('of a shared issuer', () => {
  test.each([
    'https://token.actions.githubusercontent.com',
    'https://token.actions.githubusercontent.com/acme',
    'https://gitlab.com',
    'https://accounts.google.com',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
    'https://sts.windows.net/9188040d-6c67-4c5b-b112-36a304b66dad/',
    'https://agent.buildkite.com',
    'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc',
    'https://oidc.circleci.com/org/9188040d-6c67-4c5b-b112-36a304b66dad',
    'https://app.terraform.io',
    'https://app.eu.terraform.io',
    'https://oidc.vercel.com',
    'https://oidc.vercel.com/acme',
    'https://vstoken.dev.azure.com/9188040d-6c67-4c5b-b112-36a304b66dad',
    'https://cognito-identity.amazonaws.com',
    'https://oauth2.sigstore.dev/auth',
  ])('%s an immutable id must be pinned', (issuer) => {
    const { pins = [] } = sharedIssuers.find(({ pattern }) => pattern.test(issuer)) ?? {}
    const [pin = ''] = pins
    for (const conditions of [{ repository: 'acme/orders' }, { [pin]: '7*' }]) {
      expect(() => requireSomeWorkloads(issuer, conditions)).toThrow(pins.join(' or '))
    }
    for (const name of pins) requireSomeWorkloads(issuer, { [name]: '74' })
  })

  test('the id is required, and cannot be taken away later', async () => {
    const issuer = 'https://gitlab.com'
    const tooWide = { errors: [{ code: 'too_wide', pointer: '/conditions' }] }
    expect((await create({ issuer })).json()).toMatchObject(tooWide)
    const url = urlOf(await create({ issuer, conditions: { project_id: '7' } }))
    for (const conditions of [{ project_id: null, sub: 'x' }, { project_id: '7*' }]) {
      expect((await patch(url, { conditions })).json()).toMatchObject(tooWide)
    }
  })

  test.each(platformPresets.map((preset) => [preset.platform, preset] as const))(
    'the preset %s makes a rule that is accepted',
    (_platform, { issuer, ids, suggested }) => {
      const values = Object.fromEntries(Object.keys(ids).map((name) => [name, '74']))
      requireSomeWorkloads(issuer, { ...values, ...suggested })
    },
  )
})

test('an admin API key that expires gives no rights by rules, and takes them', async () => {
  const end = new Date(server.clock.now() + 3_600_000).toISOString()
  const headers = { 'x-api-key': await server.apiKey('admin', undefined, end) }
  const refused = await server.send('POST', accessRulesUrl, { headers, body: workloads })
  expect(refused.json().code).toBe('insufficient_lifetime')
  expect(refused.json().detail).toContain('access rules have no end')
  const url = `${accessRulesUrl}/${(await server.rule()).id}`
  const codeOf = async (body: object) => (await patch(url, body, headers)).json().code
  expect(await codeOf({ role: 'reader' })).toBe('insufficient_lifetime')
  expect(await codeOf({ name: 'renamed' })).toBeUndefined()
  expect(await codeOf({ active: false })).toBeUndefined()
  expect(await codeOf({ active: true })).toBe('insufficient_lifetime')
  expect((await server.send('DELETE', url, { headers })).statusCode).toBe(204)
})

test('the rules of a project are deleted with it', async () => {
  await server.send('POST', '/v1/projects', { body: { name: 'short-lived' } })
  const bound = { project: 'short-lived' }
  const urls = [
    urlOf(await create(bound)),
    urlOf(await createForPeople({ ...bound, allProjects: undefined })),
  ]
  expect((await server.send('DELETE', '/v1/projects/short-lived')).statusCode).toBe(204)
  for (const url of urls) expect((await server.send('GET', url)).statusCode).toBe(404)
})
