import { globSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { errorTable, PubringError } from '../../../../packages/server/src/errors.ts'
import { publicUrl, startApp } from '../../../support/app/app.ts'
import { ecKey } from '../../../support/keys/pem.ts'
import { expectWithin } from '../../../support/timing.ts'

const keys = '/v1/projects/payments/jwt-keys'
const key = ecKey()
const body = (publicKeyPem = ecKey().publicKeyPem) => ({
  name: 'n',
  algorithm: 'ES256',
  publicKeyPem,
})

const server = await startApp({ config: { maxKeysPerProject: 1 } })
const create = (publicKeyPem: string) => server.send('POST', keys, { body: body(publicKeyPem) })
await create(key.publicKeyPem)

test('no code is without a test', () => {
  // A person sees it as a page, whose status tests of the sign-in expect.
  const untold = ['sign_in_unavailable']
  const files = globSync('test/**/*.test.ts', { exclude: ['test/node_modules'] })
  const texts = files.map((file) => readFileSync(file, 'utf8')).join('')
  const missing = Object.keys(errorTable).filter((code) => !texts.includes(code))
  expect(missing.filter((code) => !untold.includes(code))).toEqual([])
})

test('every error has the one form, which each test expects of all responses', async () => {
  const answer = await server.send('GET', keys, { headers: { 'x-api-key': '' } })
  const { headers } = answer
  expect(headers['content-type']).toBe('application/problem+json')
  expect(headers['cache-control']).toBe('no-store')
  expect(headers['www-authenticate']).toMatch(/^ApiKey /)
  expect(answer.json()).toEqual({
    type: `${publicUrl}/docs/errors#missing_api_key`,
    title: errorTable.missing_api_key.title,
    status: 401,
    detail: expect.stringMatching(/^\w.{20}/),
    code: 'missing_api_key',
    requestId: headers['x-request-id'],
  })
})

test('duplicate_key names the twin, and the errors of limits these and their settings', async () => {
  const [twin] = (await server.send('GET', keys)).json()
  expect((await create(key.publicKeyPem)).json()).toMatchObject({
    code: 'duplicate_key',
    kid: twin.id,
  })
  const full = (await create(ecKey().publicKeyPem)).json()
  expect(full).toMatchObject({ code: 'key_limit_reached', status: 409, limit: 1 })
  expect(full.detail).toContain('PUBRING_MAX_KEYS_PER_PROJECT')
  const small = await startApp({ config: { maxJwksBytes: 100 } })
  const answer = await small.send('POST', keys, { body: body() })
  expect(answer.json()).toMatchObject({ code: 'jwks_too_large', status: 409, limit: 100 })
  expect(answer.json().detail).toContain('PUBRING_MAX_JWKS_BYTES')
})

describe('faults of ours', () => {
  const failing = (error: Error) => startApp({ examine: () => Promise.reject(error) })

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
