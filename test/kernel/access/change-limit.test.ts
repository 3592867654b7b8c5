import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionKeyRequest } from '../../../packages/server/src/features/sign-in/contract.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { startWorkloadApp } from '../../support/app/workloads.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { createBrowser, type TestBrowser } from '../../support/sign-in/browser.ts'
import {
  clientId,
  clientSecret,
  startProvider,
  type TestProvider,
} from '../../support/sign-in/provider.ts'

const perMinute = (limit: number) => ({ limit, window: 60 })

describe('every operation that changes something', () => {
  /** Operations that change nothing, or end nothing here. */
  const others = [
    'POST /v1/key-checks',
    'POST /v1/projects/{projectIdOrName}/token-checks',
    // An API key has no session of its own.
    'DELETE /v1/sessions/self',
    // The rule, whose API key it would be, accepts no token here.
    'POST /v1/token',
  ]
  const bodies: Record<string, object> = {
    'POST /v1/projects': { name: 'another' },
    'POST /v1/key-checks': { publicKeyPem: 'x' },
    'POST /v1/projects/{projectIdOrName}/key-imports': { keys: [{}] },
    'POST /v1/projects/{projectIdOrName}/token-checks': { token: 'x' },
  }
  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
  // The deletion of the project comes last.
  const operations = Object.entries<Record<string, object>>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).flatMap((method) =>
      method === 'get' || method === 'head' ? [] : `${method.toUpperCase()} ${path}`,
    ),
  )
  const last = 'DELETE /v1/projects/{projectIdOrName}'
  const ordered = [...operations.filter((operation) => operation !== last), last]
  let server: TestApp
  beforeAll(async () => {
    server = await startApp({ http: { writeLimit: perMinute(1_000) } })
  })

  test.each(ordered)('%s counts, whatever the role that it needs', async (operation) => {
    const [method = '', path = ''] = operation.split(' ')
    const url = path
      .replace('{projectIdOrName}', 'payments')
      .replace(/\{\w+\}/, newId())
      .replace(/^\/v1\/sessions$/, method === 'DELETE' ? `$&?person=${newId()}` : '$&')
    const answer = await server.send(method as 'POST', url, {
      ...(method === 'DELETE' ? {} : { body: bodies[operation] ?? {} }),
    })
    const counts = String(answer.headers['ratelimit-policy']).includes('"changes"')
    expect(counts, answer.body).toBe(!others.includes(operation))
  })
})

test('a reader begins no more sessions than the limit allows', async () => {
  const server = await startApp({ http: { writeLimit: perMinute(5) } })
  const headers = { 'x-api-key': await server.apiKey('reader', server.project.id) }
  const statuses: number[] = []
  for (let n = 0; n < 8; n += 1) {
    statuses.push((await server.send('POST', '/v1/sessions', { headers })).statusCode)
  }
  expect(statuses).toEqual([201, 201, 201, 201, 201, 429, 429, 429])
  const refused = await server.send('POST', '/v1/sessions', { headers })
  expect(refused.headers).toMatchObject({ 'ratelimit-policy': '"changes";q=5;w=60' })
  const [sessions] = await server.database.query('select count(*) as n from session')
  expect(Number(sessions?.n)).toBe(5)
})

test('a private key is blocked beyond the limit too', async () => {
  const server = await startApp({ http: { writeLimit: perMinute(1) } })
  const { publicKeyPem, ...pair } = ecKey()
  await server.send('POST', '/v1/sessions')
  const check = { publicKeyPem: privatePem({ publicKeyPem, ...pair }) }
  await server.send('POST', '/v1/key-checks', { body: check })
  const verdict = await server.send('POST', '/v1/key-checks', { body: { publicKeyPem } })
  expect(verdict.body).toContain('compromised')
})

test('exchanges count for their rule', async () => {
  const server = await startWorkloadApp({ http: { writeLimit: perMinute(2) } })
  await server.rule()
  const statuses: number[] = []
  for (let n = 0; n < 3; n += 1) {
    statuses.push((await server.exchange(server.issuer.token())).statusCode)
  }
  expect(statuses).toEqual([200, 200, 429])
})

describe('of a person', () => {
  let provider: TestProvider
  beforeAll(async () => {
    provider = await startProvider(`${publicUrl}/sign-in/callback`)
    provider.person = { subject: 'ada', claims: { groups: ['platform'] } }
  })
  afterAll(() => provider.close())

  async function start(limit: number) {
    const { issuer } = provider
    const oidc = { issuer, clientId, clientSecret, scopes: 'openid profile email groups' }
    const server = await startApp({
      fetch: provider.server.fetchWith(),
      config: { oidc },
      http: { writeLimit: perMinute(limit) },
    })
    const rule = { for: 'people', name: 'n', conditions: { groups: 'platform' }, role: 'reader' }
    await server.send('POST', '/v1/access-rules', { body: { ...rule, allProjects: true } })
    return server
  }
  const cookieOf = ({ cookies }: TestBrowser) => {
    const name = '__Secure-pubring-session'
    return `${name}=${cookies.get(new URL(publicUrl).host)?.get(name)}`
  }

  test('sign-ins count', async () => {
    const server = await start(2)
    const statuses: number[] = []
    for (let n = 0; n < 3; n += 1) {
      statuses.push((await createBrowser(provider, server).signIn()).statusCode)
    }
    expect(statuses).toEqual([302, 302, 429])
  })

  test('approvals of a login, and the API keys of its session, count', async () => {
    const server = await start(6)
    const browser = createBrowser(provider, server)
    await browser.signIn('?recent=true')
    const codeVerifier = randomBytes(32).toString('base64url')
    const login = {
      port: '50123',
      code_challenge: hash('sha256', codeVerifier, 'base64url'),
      state: randomBytes(16).toString('base64url'),
      client: 'ada@laptop',
    }
    const headers = { 'x-api-key': 'session', cookie: cookieOf(browser) }
    const approved = await server.send('POST', '/sign-in/cli', { body: login, headers })
    expect(approved.statusCode, approved.body).toBe(200)
    const code = new URL(approved.json().url).searchParams.get('code') ?? ''
    const issue = (payload: SessionKeyRequest) =>
      server.inject({ method: 'POST', url: '/v1/session-keys', payload })
    const first = await issue({ code, codeVerifier, port: 50_123 })
    // A sign-in, an approval, a session and its API key.
    expect(first.statusCode, first.body).toBe(200)
    const { renewalSecret } = first.json()
    const statuses: number[] = []
    for (let n = 0; n < 3; n += 1) statuses.push((await issue({ renewalSecret })).statusCode)
    expect(statuses).toEqual([200, 200, 429])
  })
})
