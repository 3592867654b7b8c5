import { afterEach, describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import {
  platformPresets,
  sharedIssuers,
} from '../../../packages/server/src/features/access-rules/presets.ts'
import { publicUrl, startApp } from '../../support/app/app.ts'
import { accessRulesUrl, startWorkloadApp } from '../../support/app/workloads.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { jwkOf } from '../../support/network/issuer.ts'
import { createPersonSession, ruleRecord } from '../../support/store/sessions.ts'
import { origin } from '../../support/store/store.ts'

const oidc = { issuer: 'https://id.example.com', clientId: 'pubring', scopes: 'openid' }
const server = await startWorkloadApp({ config: { oidc } })

const valid = {
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
const post = (body: object) => server.send('POST', accessRulesUrl, { body })
const create = (members: object) => post({ ...valid, ...members })

test('the keys of a rule are returned whole', async () => {
  const jwks = { keys: [jwkOf(ecKey().privateKey, { kid: 'a' })] }
  const created = await create({ issuer: 'spire', jwks })
  expect(created.json().jwks).toEqual(jwks)
  await server.send('DELETE', `${accessRulesUrl}/${created.json().id}`)
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
  const url = `${accessRulesUrl}/${rule.id}`
  expect(created.headers.location).toBe(`${publicUrl}${url}`)
  const read = await server.send('GET', url)
  expect(read.json()).toEqual(rule)
  expect(read.headers.etag).toBe(created.headers.etag)
  expect((await server.send('GET', accessRulesUrl)).json()).toContainEqual(rule)

  const etag = String(read.headers.etag)
  const changed = await server.send('PATCH', url, {
    body: { conditions: { sub: null, ref: 'v*' }, singleUse: true, maxLifetime: 60 },
    headers: { 'if-match': etag },
  })
  expect(changed.json()).toMatchObject({
    conditions: { ref: 'v*' },
    singleUse: true,
    maxLifetime: 60,
  })
  const outdated = { headers: { 'if-match': etag } }
  expect((await server.send('DELETE', url, outdated)).json().code).toBe('precondition_failed')
  const again = await server.send('PATCH', url, { body: { maxLifetime: 60 } })
  expect(again.json()).toEqual(changed.json())
  expect((await server.send('DELETE', url)).statusCode).toBe(204)
  expect((await server.send('GET', url)).json().code).toBe('access_rule_not_found')
  expect((await server.send('DELETE', url)).json().code).toBe('access_rule_not_found')
})

describe('a rule that is written says what is found where the keys of its issuer are', () => {
  const { issuer } = server
  afterEach(() => {
    issuer.discovery = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }
  })

  test.each<[string, () => object, RegExp]>([
    ['a key', () => ({}), /^The issuer has 1 key for signatures\.$/],
    [
      'the name of another issuer',
      () => {
        issuer.discovery.issuer = `${issuer.url}/`
        return {}
      },
      /openid-configuration names the issuer “\S+\/”\. It must name \S+\d, with/,
    ],
    [
      'an address that is not https',
      () => {
        issuer.discovery.jwks_uri = 'http://10.0.0.1:6443/openid/v1/jwks'
        return {}
      },
      /^No key .* now: The address http:\/\/10\.0\.0\.1:6443\/openid\/v1\/jwks must begin with https/,
    ],
    [
      'no document',
      () => ({ jwksUri: `${issuer.url}/none` }),
      /\/none responded with the status 404/,
    ],
    [
      'keys that verify nothing',
      () => ({ jwks: { keys: [jwkOf(ecKey().privateKey, { kid: 'a', use: 'enc' })] } }),
      /has 0 keys for signatures\. “a” is not used/,
    ],
  ])('%s', async (_name, change, note) => {
    const members = change()
    const created = await create({ issuer: issuer.url, ...members })
    const { id, notes } = created.json()
    expect(notes).toEqual([expect.stringMatching(note)])
    const url = `${accessRulesUrl}/${id}`
    const read = await server.send('GET', url)
    expect(read.json()).not.toHaveProperty('notes')
    expect(read.headers.etag).toBe(created.headers.etag)
    const patch = async (body: object) => (await server.send('PATCH', url, { body })).json().notes
    expect(await patch({ name: 'n' })).toBeUndefined()
    expect(await patch({ active: false })).toBeUndefined()
    expect(await patch({ active: true })).toEqual(notes)
    expect(await patch({ active: true })).toBeUndefined()
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
    const fetch = () => Promise.reject(new TypeError('a fault of the search'))
    const broken = await startApp({
      fetch,
      http: { logStream: { write: (line: string) => void log.push(line) } },
    })
    const body = { ...valid, allProjects: true, project: undefined }
    const created = await broken.send('POST', accessRulesUrl, { body })
    expect([created.statusCode, created.json().notes]).toEqual([201, undefined])
    expect(log.join('')).toContain('a fault of the search')
  })

  test('nothing, if its keys are those of the project', async () => {
    const own = { keySource: 'project', singleUse: true, role: 'registrar', conditions: {} }
    const created = await create({
      issuer: `${publicUrl}/v1/projects/${server.project.id}`,
      ...own,
    })
    expect([created.statusCode, created.json().notes]).toEqual([201, undefined])
  })
})

test('the ledger holds every member, and the key material by its hash', async () => {
  const jwks = { keys: [jwkOf(ecKey().privateKey, { kid: 'a' })] }
  const { id } = (await create({ jwks, singleUse: true })).json()
  await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { role: 'writer', active: false } })
  await server.send('DELETE', `${accessRulesUrl}/${id}`)
  const events = (await server.send('GET', '/v1/events?limit=200')).json()
  const own = events.filter((event: { subject: { id: string } }) => event.subject.id === id)
  expect(own.map(({ type }: { type: string }) => type)).toEqual([
    'access_rule.created',
    'access_rule.updated',
    'access_rule.deleted',
  ])
  expect(own[0].changes).toEqual({
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
  expect(own[1].changes).toEqual({
    role: { from: 'registrar', to: 'writer' },
    active: { from: true, to: false },
    state: { to: expect.any(String) },
  })
})

describe('a rule for people', () => {
  const createForPeople = (members: object) => post({ ...people, ...members })

  test('has the issuer that is configured, and no member of workloads', async () => {
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
    const url = `${accessRulesUrl}/${rule.id}`
    const patch = { conditions: { groups: null, sub: 'ada' }, role: 'reader' }
    const changed = await server.send('PATCH', url, { body: patch })
    expect(changed.json()).toMatchObject({ conditions: { sub: 'ada' }, role: 'reader' })
    expect((await server.send('DELETE', url)).statusCode).toBe(204)
    const [, updated, deleted] = (await server.send('GET', `/v1/history?subject=${rule.id}`))
      .json()
      .toReversed()
    expect(updated).toMatchObject({
      type: 'access_rule.updated',
      changes: { role: { from: 'admin', to: 'reader' } },
    })
    expect(deleted.type).toBe('access_rule.deleted')
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
    const answer = await createForPeople(Object.fromEntries(workloadMembers))
    const faults = workloadMembers.map(([name]) => ({
      pointer: `/${name}`,
      code: 'contradictory',
    }))
    expect(answer.json()).toMatchObject({ status: 400, errors: faults })
    const { id } = (await createForPeople({})).json()
    for (const [name, value] of workloadMembers.slice(1)) {
      const url = `${accessRulesUrl}/${id}`
      const patched = await server.send('PATCH', url, { body: { [name]: value } })
      expect(patched.json()).toMatchObject({ status: 400, errors: [{ pointer: `/${name}` }] })
    }
  })

  test.each<[string, object, string]>([
    ['of another issuer', { issuer: 'https://issuer.example.com' }, 'contradictory'],
    ['that does not say for which projects', { allProjects: undefined }, 'required'],
    ['that everyone meets', { conditions: { sub: '*' } }, 'too_wide'],
    ['without conditions', { conditions: {} }, 'too_wide'],
    ['on the client alone, which all share', { conditions: { aud: 'pubring' } }, 'too_wide'],
    ['without a name', { name: '' }, 'too_short'],
    ['for nobody that is known', { for: 'robots' }, 'unknown_value'],
    ['that does not say for whom', { for: undefined }, 'required'],
  ])('%s is rejected', async (_name, members, code) => {
    expect((await createForPeople(members)).json()).toMatchObject({
      status: 400,
      errors: [{ code }],
    })
  })

  test('is rejected while people cannot sign in', async () => {
    const other = await startWorkloadApp()
    const answer = await other.send('POST', accessRulesUrl, { body: people })
    expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/issuer' }] })
    await other.close()
  })

  test('never becomes one for workloads', async () => {
    const { id } = (await createForPeople({})).json()
    const body = { for: 'workloads' }
    const answer = await server.send('PATCH', `${accessRulesUrl}/${id}`, { body })
    expect(answer.json().errors).toMatchObject([{ pointer: '/for', code: 'unknown_field' }])
  })

  test('says whose claims meet it, from claims or an ID token', async () => {
    const { id } = (await createForPeople({})).json()
    const check = async (body: object) =>
      (await server.send('POST', `${accessRulesUrl}/${id}/checks`, { body })).json()
    const met = { iss: oidc.issuer, groups: ['staff', 'platform'] }
    expect(await check({ claims: met })).toMatchObject({
      accepted: true,
      steps: [
        { step: 'iss', outcome: 'passed' },
        { step: 'rule_active', outcome: 'passed' },
        { step: 'conditions', outcome: 'passed' },
      ],
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
    await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { active: false } })
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
  for (const body of [valid, people]) {
    const created = await post({ ...body, ...auditing })
    expect(created.json()).toMatchObject({ role: 'auditor', allProjects: true })
    const bound = { project: 'payments', allProjects: undefined }
    const refused = await post({ ...body, ...auditing, ...bound })
    expect(refused.json().errors).toMatchObject([{ pointer: '/role', code: 'contradictory' }])
    const { id } = (await post({ ...body, ...bound, role: 'writer' })).json()
    const patch = { body: { role: 'auditor' } }
    const patched = await server.send('PATCH', `${accessRulesUrl}/${id}`, patch)
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
    const answer = await server.inject({
      method: 'GET',
      url: '/v1/self',
      headers: { 'x-api-key': 'session', cookie: `__Secure-pubring-session=${secret}` },
    })
    expect(answer.json().code).toBe('invalid_session')
  })

  test('checks no claims in place of the token of a workload', async () => {
    const { id } = (await create({})).json()
    const body = { claims: { sub: 'orders' } }
    const answer = await server.send('POST', `${accessRulesUrl}/${id}/checks`, { body })
    expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/token' }] })
  })
})

describe('a rule is rejected', () => {
  test.each<[string, object, string, detail?: RegExp]>([
    ['without a project', { project: undefined }, 'required'],
    ['with a project and all', { allProjects: true }, 'required'],
    ['for no project', { allProjects: false, project: undefined }, 'required'],
    ['for an admin', { role: 'admin' }, 'too_wide'],
    ['without an issuer', { issuer: undefined }, 'text_invalid'],
    ['without conditions', { conditions: undefined }, 'required'],
    ['with empty conditions', { conditions: {} }, 'too_wide'],
    ['on the issuer alone', { conditions: { iss: 'https://issuer.example.com' } }, 'too_wide'],
    ['on the audience alone', { conditions: { aud: 'pubring' } }, 'too_wide'],
    ['on both alone', { conditions: { '/iss': 'x', '/aud/0': 'y', sub: '*' } }, 'too_wide'],
    ['without a name', { name: '' }, 'too_short'],
    ['that takes every subject', { conditions: { sub: '*' } }, 'too_wide'],
    ['with a null condition', { conditions: { sub: null } }, 'wrong_type'],
    [
      'with a list as condition',
      { conditions: { sub: ['a'] } },
      'wrong_type',
      /^conditions\/sub must be a string or a number or a boolean, not an array\.$/,
    ],
    ['with a star inside', { conditions: { sub: 'a*b' } }, 'condition_invalid'],
    ['with a lifetime of an hour', { maxLifetime: 3_600 }, 'out_of_range'],
    ['with a lifetime of a second', { maxLifetime: 1 }, 'out_of_range'],
    ['with a plain http issuer', { issuer: 'http://issuer.test' }, 'address_invalid'],
    ['with an issuer that is a name', { issuer: 'kubernetes' }, 'address_invalid'],
    ['with an issuer with a query', { issuer: 'https://issuer.test/?a' }, 'address_invalid'],
    ['with an empty issuer', { issuer: '' }, 'text_invalid'],
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
    [
      'with a regular expression',
      { conditions: { ref: 'refs/heads/.*' } },
      'condition_invalid',
      /looks like a regular expression, but is compared as it is/,
    ],
    [
      'with the name of a claim and dots',
      { conditions: { 'kubernetes.io.namespace': 'a' } },
      'condition_invalid',
      /write the JSON pointer “\/kubernetes\.io\/namespace”\. .* “\/kubernetes\.io\.namespace”\.$/,
    ],
    ['with keys at plain http', { jwksUri: 'http://a.test/jwks' }, 'address_invalid'],
    ['with credentials in the address', { jwksUri: 'https://a:b@a.test' }, 'address_invalid'],
    ['with two sources', { jwksUri: 'https://a.test', jwks: { keys: [] } }, 'contradictory'],
    ['with a source that is missing', { keySource: 'jwks' }, 'contradictory'],
    ['with an unknown source', { keySource: 'other' }, 'unknown_value'],
    ['with a JWKS that is a list', { jwks: [] }, 'wrong_type'],
    ['with an empty audience', { audience: '' }, 'text_invalid'],
    ['with an empty name', { name: ' ' }, 'too_short'],
    ['with an unknown field', { audiences: [] }, 'unknown_field'],
  ])('%s', async (_name, members, code, detail = /./) => {
    const response = await create(members)
    expect(response.json()).toMatchObject({
      status: 400,
      errors: [{ code, detail: expect.stringMatching(detail) }],
    })
  })

  test('for all projects that says so is accepted', async () => {
    const { statusCode, ...response } = await create({ project: undefined, allProjects: true })
    expect(statusCode).toBe(201)
    expect(response.json()).toMatchObject({ allProjects: true })
    expect(response.json()).not.toHaveProperty('projectId')
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
  const issuers = [
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
  ]
  test.each(issuers)('%s an immutable id must be pinned', async (issuer) => {
    const { pins = [] } = sharedIssuers.find(({ pattern }) => pattern.test(issuer)) ?? {}
    const [pin = ''] = pins
    for (const conditions of [{ repository: 'acme/orders' }, { [pin]: '7*' }, { [pin]: '*' }]) {
      const { errors } = (await create({ issuer, conditions })).json()
      expect(errors).toMatchObject([{ code: 'too_wide', pointer: '/conditions' }])
      for (const name of pins) expect(errors[0].detail).toContain(name)
    }
    for (const name of pins) {
      expect((await create({ issuer, conditions: { [name]: '74' } })).statusCode).toBe(201)
    }
  })

  test('a name is not taken away by a patch', async () => {
    const { id } = (await create({ conditions: { sub: 'x' } })).json()
    const response = await server.send('PATCH', `${accessRulesUrl}/${id}`, { body: { name: '' } })
    expect(response.json().errors).toMatchObject([{ pointer: '/name', code: 'too_short' }])
  })

  test('the id cannot be taken away later', async () => {
    const issuer = 'https://gitlab.com'
    const { id } = (await create({ issuer, conditions: { project_id: '7' } })).json()
    for (const conditions of [{ project_id: null, sub: 'x' }, { project_id: '7*' }]) {
      const response = await server.send('PATCH', `${accessRulesUrl}/${id}`, {
        body: { conditions },
      })
      expect(response.json().errors).toMatchObject([{ code: 'too_wide' }])
    }
  })

  test.each(platformPresets.map((preset) => [preset.platform, preset] as const))(
    'the preset %s makes a rule that is accepted',
    async (_platform, { issuer, ids, suggested }) => {
      const values = Object.fromEntries(Object.keys(ids).map((name) => [name, '74']))
      const response = await create({ issuer, conditions: { ...values, ...suggested } })
      expect(response.statusCode, response.body).toBe(201)
    },
  )
})

describe('access', () => {
  test.each(['reader', 'registrar', 'writer'] as const)('a %s is refused', async (role) => {
    const headers = { 'x-api-key': await server.apiKey(role) }
    const response = await server.send('GET', accessRulesUrl, { headers })
    expect(response.json().code).toBe('insufficient_role')
  })

  test('an admin of one project is refused, also for that project', async () => {
    const headers = { 'x-api-key': await server.apiKey('admin', server.project.id) }
    const response = await server.send('POST', accessRulesUrl, { headers, body: valid })
    expect(response.json().code).toBe('insufficient_role')
  })

  test('an admin API key that expires gives no rights by rules, and takes them', async () => {
    const end = new Date(server.clock.now() + 3_600_000).toISOString()
    const headers = { 'x-api-key': await server.apiKey('admin', undefined, end) }
    const refused = await server.send('POST', accessRulesUrl, { headers, body: valid })
    expect(refused.json().code).toBe('insufficient_lifetime')
    expect(refused.json().detail).toContain('access rules have no end')
    const url = `${accessRulesUrl}/${(await server.rule()).id}`
    const patch = async (body: object) =>
      (await server.send('PATCH', url, { headers, body })).json().code
    expect(await patch({ role: 'reader' })).toBe('insufficient_lifetime')
    expect(await patch({ name: 'renamed' })).toBeUndefined()
    expect(await patch({ active: false })).toBeUndefined()
    expect(await patch({ active: true })).toBe('insufficient_lifetime')
    expect((await server.send('DELETE', url, { headers })).statusCode).toBe(204)
  })
})

test('the rules of a project are deleted with it', async () => {
  await server.send('POST', '/v1/projects', { body: { name: 'short-lived' } })
  const bound = { project: 'short-lived' }
  const { id } = await server.rule(bound)
  const own = (await post({ ...people, ...bound, allProjects: undefined })).json()
  expect((await server.send('DELETE', '/v1/projects/short-lived')).statusCode).toBe(204)
  for (const each of [id, own.id]) {
    expect((await server.send('GET', `${accessRulesUrl}/${each}`)).statusCode).toBe(404)
  }
})
