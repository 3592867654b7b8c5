import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type ErrorCode, errorTable, PubringError } from '../../../../packages/server/src/errors.ts'
import { publicUrl, startApp, type TestApp } from '../../../support/app/app.ts'
import { ecKey, privatePem, rsaKey } from '../../../support/keys/pem.ts'
import { expectWithin } from '../../../support/timing.ts'

const keys = '/v1/projects/payments/jwt-keys'
const key = ecKey()
const leaked = ecKey()

const server = await startApp({ config: { maxKeysPerProject: 2 } })
const create = (publicKeyPem: string, algorithm = 'ES256', project = 'payments') =>
  server.send('POST', `/v1/projects/${project}/jwt-keys`, {
    body: { name: 'n', algorithm, publicKeyPem },
  })
await create(key.publicKeyPem)
await create(privatePem(leaked))
await server.send('POST', '/v1/projects', { body: { name: 'full' } })
for (let n = 0; n < 2; n++) await create(ecKey().publicKeyPem, 'ES256', 'full')

const get = (url: string, headers: Record<string, string> = {}) =>
  server.send('GET', url, { headers })

const causes: Partial<Record<ErrorCode, () => ReturnType<TestApp['send']>>> = {
  invalid_json: () => server.send('POST', keys, { body: '{' }),
  invalid_request: () => server.send('POST', keys, { body: {} }),
  invalid_key_pem: () => create('no key'),
  private_key_submitted: () => create(privatePem(ecKey())),
  unsupported_key: () => create(ecKey('secp256k1').publicKeyPem),
  weak_key: () => create(rsaKey(1024).publicKeyPem, 'RSA'),
  algorithm_mismatch: () => create(ecKey().publicKeyPem, 'RSA'),
  compromised_key: () => create(leaked.publicKeyPem),
  invalid_proof: async () => {
    const [{ id }] = (await get(keys)).json()
    return server.send('POST', `${keys}/${id}/end`, { body: { token: 'x' } })
  },
  import_refused: () =>
    server.send('POST', '/v1/projects/payments/key-imports', { body: { keys: [{}] } }),
  missing_api_key: () => get(keys, { 'x-api-key': '' }),
  invalid_api_key: () => get(keys, { 'x-api-key': 'pubring_x' }),
  insufficient_role: async () => {
    const headers = { 'x-api-key': await server.apiKey('reader') }
    return server.send('POST', '/v1/projects', { body: { name: 'x' }, headers })
  },
  insufficient_lifetime: async () => {
    const secret = await server.apiKey('admin', undefined, '2090-01-01T00:00:00.000Z')
    const body = { name: 'n', role: 'reader' }
    return server.send('POST', '/v1/api-keys', { body, headers: { 'x-api-key': secret } })
  },
  project_not_found: () => get('/v1/projects/none'),
  key_not_found: () => get(`${keys}/${server.project.id}`),
  api_key_not_found: () => get(`/v1/api-keys/${server.project.id}`),
  invalid_session: () => get(keys, { 'x-api-key': 'session' }),
  session_not_found: () => server.send('DELETE', `/v1/sessions/${server.project.id}`),
  person_not_found: () => server.send('DELETE', `/v1/people/${server.project.id}`),
  link_not_found: () => get(`/v1/projects/payments/registration-links/${server.project.id}`),
  access_rule_not_found: () => get(`/v1/access-rules/${server.project.id}`),
  last_admin: async () => {
    const { id } = (await get('/v1/api-keys/self')).json()
    return server.send('DELETE', `/v1/api-keys/${id}`)
  },
  own_access: async () => {
    const headers = { 'x-api-key': await server.apiKey('admin') }
    const { id } = (await get('/v1/api-keys/self', headers)).json()
    return server.send('DELETE', `/v1/api-keys/${id}`, { headers })
  },
  route_not_found: () => get('/v1/none'),
  method_not_allowed: () => server.send('DELETE', keys),
  duplicate_key: () => create(key.publicKeyPem),
  key_limit_reached: () => create(ecKey().publicKeyPem, 'ES256', 'full'),
  project_id_taken: async () => {
    const { id } = (await server.send('GET', '/v1/projects/payments')).json()
    return server.send('POST', '/v1/projects', { body: { name: 'other', id } })
  },
  project_name_taken: () => server.send('POST', '/v1/projects', { body: { name: 'Payments' } }),
  log_stopped: () => server.send('POST', '/v1/log/checkpoints'),
  not_logged: () => server.send('GET', '/v1/projects/payments/ledger-proof'),
  project_not_empty: () => server.send('DELETE', '/v1/projects/payments'),
  body_too_large: () => server.send('POST', keys, { body: 'x'.repeat(70_000) }),
  unsupported_media_type: () =>
    server.send('POST', keys, { body: '{}', headers: { 'content-type': 'text/plain' } }),
}

/** Tested below, or where what causes them is. */
const elsewhere: ErrorCode[] = [
  'jwks_too_large',
  'log_ended',
  'internal',
  'storage_unavailable',
  'overloaded',
  'headers_too_large',
  'request_timeout',
  'key_active',
  'key_compromised',
  'precondition_failed',
  'history_changed',
  'rate_limited',
  'unsupported_transfer_encoding',
  'cross_site_request',
  'recent_sign_in_required',
  'sign_in_failed',
  'sign_in_unavailable',
  'key_not_vouched',
  'key_inactive',
  'link_limit_reached',
  'rotation_not_found',
  'rotation_exists',
  'rotation_not_ready',
  'rotation_ended',
  'reporter_not_found',
  'reporter_taken',
  'reporter_limit_reached',
]

test('no code is forgotten', () => {
  expect([...Object.keys(causes), ...elsewhere].sort()).toEqual(Object.keys(errorTable).sort())
})

describe('every error has the one form', () => {
  test.each(Object.entries(causes))('%s', async (code, cause) => {
    const { status, title } = errorTable[code as ErrorCode]
    const answer = await cause()
    expect(answer.json()).toMatchObject({ code, status, title })
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['x-request-id']).toBe(answer.json().requestId)
    expect(answer.json().type).toBe(`${publicUrl}/docs/errors#${code}`)
    expect(answer.json().detail).toMatch(/^\w.{20}/)
    expect(answer.body).not.toMatch(/\bat .*\.ts|node_modules|SQLITE|select |insert /i)
  })

  test('a 401 has a challenge, no other error has one', async () => {
    expect((await get(keys, { 'x-api-key': '' })).headers['www-authenticate']).toMatch(/^ApiKey /)
    expect((await get('/v1/none')).headers['www-authenticate']).toBeUndefined()
  })

  test('duplicate_key names the twin, and those of a limit it and its setting', async () => {
    const [twin] = (await get(keys)).json()
    expect((await create(key.publicKeyPem)).json().kid).toBe(twin.id)
    const full = (await create(ecKey().publicKeyPem, 'ES256', 'full')).json()
    expect(full).toMatchObject({ limit: 2 })
    expect(full.detail).toContain('PUBRING_MAX_KEYS_PER_PROJECT')
    const small = await startApp({ config: { maxJwksBytes: 100 } })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const answer = await small.send('POST', keys, { body })
    expect(answer.json()).toMatchObject({ code: 'jwks_too_large', status: 409, limit: 100 })
    expect(answer.json().detail).toContain('PUBRING_MAX_JWKS_BYTES')
  })
})

describe('faults of ours', () => {
  const failing = (error: Error) => startApp({ examine: () => Promise.reject(error) })
  const body = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })

  test('an unknown error is internal and says nothing of itself', async () => {
    const broken = await failing(new Error('no such table: /var/lib/secret'))
    const answer = await broken.send('POST', keys, { body: body() })
    expect(answer.json()).toMatchObject({ code: 'internal', status: 500 })
    expect(answer.body).not.toContain('secret')
  })

  test('overloaded says when to come again', async () => {
    const busy = await failing(new PubringError('overloaded', 'Full.', { retryAfter: 3 }))
    const answer = await busy.send('POST', keys, { body: body() })
    expect(answer.json()).toMatchObject({ code: 'overloaded', status: 503 })
    expect(answer.headers['retry-after']).toBe('3')
  })

  test('a storage that is locked is 503 for changes; reads go on at once', async () => {
    const locked = await startApp()
    const lock = await locked.database.lockWrites()
    const waiting = locked.send('POST', '/v1/projects', { body: { name: 'late' } })
    await delay(200)
    const begun = performance.now()
    const list = await locked.send('GET', keys)
    const live = await locked.send('GET', '/health/live')
    expectWithin(1000, performance.now() - begun)
    const change = await waiting
    await lock.release()
    expect(change.json()).toMatchObject({ code: 'storage_unavailable', status: 503 })
    expect(Number(change.headers['retry-after'])).toBeGreaterThan(0)
    expect(list.body).toBe('[]')
    expect(live.statusCode).toBe(200)
    const later = await locked.send('POST', '/v1/projects', { body: { name: 'late' } })
    expect(later.statusCode).toBe(201)
  })

  test('a storage that is gone is never an empty list', async () => {
    const cut = await startApp()
    await cut.context.store.close()
    const list = await cut.send('GET', keys)
    expect(list.statusCode).toBeGreaterThanOrEqual(500)
    const ready = await cut.send('GET', '/health/ready')
    expect([ready.statusCode, ready.json()]).toEqual([
      503,
      { status: 'unavailable', reason: 'storage' },
    ])
  })
})
