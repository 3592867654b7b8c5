import { hash, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { SessionKeyRequest } from '../../../packages/server/src/features/sign-in/contract.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { publicUrl, startApp, type TestApp } from '../../support/app/app.ts'
import { keysUrl } from '../../support/app/keys.ts'
import { apiOperations } from '../../support/app/operations.ts'
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
    'POST /v1/projects/{projectIdOrName}/key-uses',
    // An API key has no session of its own.
    'DELETE /v1/sessions/self',
    // A thief who uses up the changes of a person must not keep them from ending the session.
    'DELETE /v1/sessions/{id}',
    'DELETE /v1/sessions',
    // The rule, whose API key it would be, accepts no token here.
    'POST /v1/token',
    // Counts for the link, which does not exist here.
    'POST /v1/registration-sessions',
    // Counts for the key, which proves nothing here.
    'POST /v1/projects/{projectIdOrName}/jwt-keys/{kid}/end',
  ]
  const bodies: Record<string, object> = {
    'POST /v1/projects': { name: 'another' },
    'POST /v1/key-checks': { publicKeyPem: 'x' },
    'POST /v1/access-rules/checks': { for: 'people', name: 'n', conditions: {}, role: 'reader' },
    'POST /v1/projects/{projectIdOrName}/key-imports': { keys: [{}] },
    'POST /v1/projects/{projectIdOrName}/token-checks': { token: 'x' },
    'POST /v1/projects/{projectIdOrName}/key-uses': { reporter: 'orders-api', uses: [] },
    'POST /v1/registration-sessions': { secret: 'x' },
  }
  const changing = apiOperations.filter(({ method }) => method !== 'GET')
  // The deletion of the project comes last.
  const last = changing.filter(({ name }) => name === 'DELETE /v1/projects/{projectIdOrName}')
  const ordered = [...changing.filter((one) => !last.includes(one)), ...last]
  let server: TestApp
  beforeAll(async () => {
    server = await startApp({ http: { writeLimit: perMinute(1_000) } })
  })

  test.each(ordered)('$name counts, whatever the role that it needs', async (operation) => {
    const { name, method } = operation
    const url = operation.url('payments')
    const isOfPerson = name === 'DELETE /v1/sessions'
    const answer = await server.send(method, isOfPerson ? `${url}?person=${newId()}` : url, {
      ...(method === 'DELETE' ? {} : { body: bodies[name] ?? {} }),
    })
    const counts = String(answer.headers['ratelimit-policy']).includes('"changes"')
    expect(counts, answer.body).toBe(!others.includes(name))
  })
})

describe('the limit of changes', () => {
  const newKey = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })

  test('responds 429 to further changes by the API key, and to nothing else', async () => {
    const server = await startApp({ http: { writeLimit: perMinute(3), rateLimit: perMinute(20) } })
    const { headers } = await server.send('POST', keysUrl, { body: newKey() })
    expect(headers['ratelimit-policy']).toBe('"api-key";q=20;w=60, "changes";q=3;w=60')
    expect(headers.ratelimit).toMatch(/^"api-key";r=15;t=\d+, "changes";r=2;t=\d+$/)
    const url = String(headers.location).slice(publicUrl.length)
    expect((await server.send('PATCH', url, { body: { label: 'l' } })).statusCode).toBe(200)
    expect((await server.send('DELETE', url)).statusCode).toBe(409)
    const refused = await server.send('DELETE', url)
    expect(refused.json()).toMatchObject({ status: 429, code: 'rate_limited' })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
    const body = { publicKeyPem: ecKey().publicKeyPem }
    expect((await server.send('POST', '/v1/key-checks', { body })).statusCode).toBe(200)
    const other = { 'x-api-key': await server.apiKey('writer') }
    const byOther = await server.send('PATCH', url, { body: {}, headers: other })
    expect(byOther.statusCode).toBe(200)
  })

  test('is not used up by what is invalid, unknown or not permitted, and by an import for each key', async () => {
    const server = await startApp({ http: { writeLimit: perMinute(10) } })
    const headers = { 'x-api-key': await server.apiKey('reader') }
    const body = { name: 'p' }
    expect((await server.send('POST', '/v1/projects', { body, headers })).statusCode).toBe(403)
    expect((await server.send('POST', '/v1/projects', { body: {} })).statusCode).toBe(400)
    expect((await server.send('DELETE', '/v1/projects/none')).statusCode).toBe(404)
    const importKeys = () => {
      const keys = Array.from({ length: 6 }, newKey)
      return server.send('POST', '/v1/projects/payments/key-imports', { body: { keys } })
    }
    expect((await importKeys()).headers.ratelimit).toMatch(/;r=4;/)
    expect((await importKeys()).statusCode).toBe(429)
  })

  test('applies to the sessions that a reader begins', async () => {
    const server = await startApp({ http: { writeLimit: perMinute(2) } })
    const headers = { 'x-api-key': await server.apiKey('reader', server.project.id) }
    const statuses: number[] = []
    for (let n = 0; n < 4; n += 1) {
      statuses.push((await server.send('POST', '/v1/sessions', { headers })).statusCode)
    }
    expect(statuses).toEqual([201, 201, 429, 429])
    const [sessions] = await server.database.query('select count(*) as n from session')
    expect(Number(sessions?.n)).toBe(2)
  })
})

test('changes count although the client disconnects before them', async () => {
  const statuses: number[] = []
  const server = await startApp({
    http: { writeLimit: perMinute(1) },
    beforeRoutes: async (app) => {
      app.addHook('preHandler', async (_request, reply) => void reply.raw.emit('close'))
      app.addHook('onSend', async (_request, reply) => void statuses.push(reply.statusCode))
    },
  })
  for (let n = 0; n < 3; n += 1) {
    await expect(server.send('POST', '/v1/sessions')).rejects.toThrow('before completion')
  }
  await expect.poll(() => statuses.toSorted()).toEqual([201, 429, 429])
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

describe('for a person', () => {
  let provider: TestProvider
  beforeAll(async () => {
    provider = await startProvider(`${publicUrl}/sign-in/callback`)
    provider.person = { subject: 'ada', claims: { groups: ['platform'] } }
  })

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
  const login = () => ({
    port: '50123',
    state: randomBytes(16).toString('base64url'),
    client: 'ada@laptop',
  })

  test('neither signing in nor signing out counts, whatever has used up the changes', async () => {
    const server = await start(1)
    const statuses: number[] = []
    for (let n = 0; n < 3; n += 1) {
      const browser = createBrowser(provider, server)
      statuses.push((await browser.signIn('?recent=true')).statusCode)
      const headers = { 'x-api-key': 'session', cookie: cookieOf(browser) }
      const body = { ...login(), code_challenge: randomBytes(32).toString('base64url') }
      statuses.push((await server.send('POST', '/sign-in/cli', { body, headers })).statusCode)
      statuses.push((await server.send('DELETE', '/v1/sessions/self', { headers })).statusCode)
    }
    expect(statuses).toEqual([302, 200, 200, 302, 429, 200, 302, 429, 200])
  })

  test('approvals of a login, its redemption and its renewals count, each once', async () => {
    const server = await start(4)
    const browser = createBrowser(provider, server)
    await browser.signIn('?recent=true')
    const codeVerifier = randomBytes(32).toString('base64url')
    const body = { ...login(), code_challenge: hash('sha256', codeVerifier, 'base64url') }
    const headers = { 'x-api-key': 'session', cookie: cookieOf(browser) }
    const approved = await server.send('POST', '/sign-in/cli', { body, headers })
    expect(approved.statusCode, approved.body).toBe(200)
    const code = new URL(approved.json().url).searchParams.get('code') ?? ''
    const issue = (payload: SessionKeyRequest) =>
      server.inject({ method: 'POST', url: '/v1/session-keys', payload })
    const first = await issue({ code, codeVerifier, port: 50_123 })
    expect(first.statusCode, first.body).toBe(200)
    const { renewalSecret } = first.json()
    const statuses: number[] = []
    for (let n = 0; n < 3; n += 1) statuses.push((await issue({ renewalSecret })).statusCode)
    expect(statuses).toEqual([200, 200, 429])
  })
})
