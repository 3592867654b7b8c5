import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { registerKey } from '../../support/app/keys.ts'
import { checksUrl, noon, startTokenChecks } from '../../support/app/token-checks.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'

let logged = ''
const logStream = new PassThrough({ encoding: 'utf8' })
logStream.on('data', (text: string) => {
  logged += text
})

const server = await startTokenChecks({ logLevel: 'trace', logStream })

describe('the kid', () => {
  test.each([
    ['absent', {}],
    ['empty', { kid: '' }],
    ['a number', { kid: 7 }],
    ['null', { kid: null }],
    ['an array', { kid: [] }],
    ['an object', { kid: { toString: 1 } }],
  ])('%s is kid_missing', async (_name, members) => {
    const text = signToken(server.keyOf('RS256').privateKey, { alg: 'RS256', ...members })
    expect(await server.failure({ token: text })).toMatchObject({ reason: 'kid_missing' })
  })

  test.each(['x', '../default', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71', 'k'.repeat(9_000)])(
    'no project has %.40s: kid_unknown, and no key is shown',
    async (kid) => {
      const report = await server.failure({ token: server.token('RS256', {}, { kid }) })
      expect(report).toMatchObject({ reason: 'kid_unknown', step: 'kid_known' })
      expect(report).not.toHaveProperty('key')
      expect(report.detail).not.toContain(kid.slice(0, 200))
    },
  )

  test('the key of another project is as unknown as one that never was', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'other' } })
    const other = ecKey()
    const kid = await registerKey(
      server,
      { publicKeyPem: other.publicKeyPem },
      '/v1/projects/other/jwt-keys',
    )
    const foreign = await server.failure({
      token: signToken(other.privateKey, { alg: 'ES256', kid }),
    })
    const nobody = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'
    const unknown = await server.failure({
      token: signToken(other.privateKey, { alg: 'ES256', kid: nobody }),
    })
    expect(foreign.reason).toBe('kid_unknown')
    expect({ ...foreign, header: {} }).toEqual({ ...unknown, header: {} })
  })

  test('the thumbprint leads to the kid', async () => {
    const { kid } = server.keyOf('RS256')
    const url = `/v1/projects/payments/jwt-keys/${kid}`
    const { thumbprint } = (await server.send('GET', url)).json().details
    const report = await server.failure({ token: server.token('RS256', {}, { kid: thumbprint }) })
    expect(report).toMatchObject({ reason: 'kid_unknown', detail: expect.stringContaining(kid) })
  })

  test('upper case is not the same kid, since verifiers compare the text', async () => {
    const { kid } = server.keyOf('RS256')
    const report = await server.failure({
      token: server.token('RS256', {}, { kid: kid.toUpperCase() }),
    })
    expect(report).toMatchObject({ reason: 'kid_unknown', detail: expect.stringContaining(kid) })
  })
})

describe('key_inactive', () => {
  afterEach(() => server.setClock(noon))

  test('a key that is switched off', async () => {
    const key = ecKey()
    const kid = await registerKey(server, { publicKeyPem: key.publicKeyPem, active: false })
    const report = await server.failure({ token: signToken(key.privateKey, { alg: 'ES256', kid }) })
    expect(report).toMatchObject({ reason: 'key_inactive', key: { id: kid, active: false } })
    expect(report.detail).toContain('deactivated')
  })

  test('a key is trusted until the millisecond before its expireTime', async () => {
    const key = ecKey()
    const expireTime = new Date(noon + 5_000).toISOString()
    const kid = await registerKey(server, { publicKeyPem: key.publicKeyPem, expireTime })
    const text = signToken(key.privateKey, { alg: 'ES256', kid }, { iss: server.issuer })
    server.setClock(noon + 4_999)
    expect(await server.check({ token: text })).toMatchObject({ valid: true })
    server.setClock(noon + 5_000)
    const report = await server.failure({ token: text })
    expect(report).toMatchObject({ reason: 'key_inactive', key: { active: false } })
    expect(report.detail).toContain(expireTime)
  })
})

describe('the request', () => {
  test.each([
    [{}, '/token', 'required'],
    [{ token: 7 }, '/token', 'wrong_type'],
    [{ token: 'x', audience: '' }, '/audience', 'too_short'],
    [{ token: 'x', audience: ['b'] }, '/audience', 'wrong_type'],
    [{ token: 'x', issuer: null }, '/issuer', 'wrong_type'],
    [{ token: 'x', aud: 'b' }, '/aud', 'unknown_field'],
  ])('%j is refused', async (body, pointer, code) => {
    const answer = await server.send('POST', checksUrl, { body })
    expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer, code }] })
  })

  test('a token beyond the limit of bodies is 413', async () => {
    const answer = await server.send('POST', checksUrl, { body: { token: 'A'.repeat(70_000) } })
    expect(answer.statusCode).toBe(413)
  })

  test('an API key of another project does not find it', async () => {
    await server.send('POST', '/v1/projects', { body: { name: 'third' } })
    const third = (await server.send('GET', '/v1/projects/third')).json()
    const stranger = await server.apiKey('admin', third.id)
    const headers = { 'x-api-key': stranger }
    const answer = await server.send('POST', checksUrl, {
      body: { token: server.token('ES256') },
      headers,
    })
    expect(answer.json().code).toBe('project_not_found')
  })
})

test('the examples in the description of the API work as they stand', async () => {
  const { components } = (await server.send('GET', '/openapi.json')).json()
  const { TokenCheckRequest, TokenCheck } = components.schemas
  const answer = await server.send('POST', checksUrl, { body: TokenCheckRequest.examples[0] })
  expect(answer.json()).toMatchObject({ reason: 'kid_unknown', claims: { sub: 'alice' } })
  const [example] = TokenCheck.examples
  const key = ecKey()
  const label = example.key.label
  const off = { name: label, publicKeyPem: key.publicKeyPem, active: false }
  const kid = await registerKey(server, off)
  const report = await server.failure({ token: signToken(key.privateKey, { alg: 'ES256', kid }) })
  expect(report).toMatchObject({ reason: example.reason, steps: example.steps })
})

test('no part of any token reaches the log, with any result and at any level', async () => {
  const sent: string[] = []
  const post = async (text: string, body: unknown) => {
    sent.push(text)
    await server.send('POST', checksUrl, { body })
  }
  const secret = { sub: 'a-secret-subject-of-this-test' }
  const good = server.token('RS256', secret)
  await post(good, { token: good })
  const expired = server.token('ES256', { ...secret, exp: 1 })
  await post(expired, { token: expired })
  const unknown = server.token('ES256', secret, { kid: 'a-secret-kid-of-this-test' })
  await post(unknown, { token: unknown })
  const misplaced = server.token('EdDSA', secret)
  await post(misplaced, { [misplaced]: misplaced })
  await post(misplaced, { token: [misplaced] })
  await post(misplaced, `{"token":"${misplaced}`)
  await post(misplaced, { token: misplaced, audience: misplaced, issuer: misplaced })
  await setImmediate()
  expect(logged.split('token-checks').length).toBeGreaterThan(sent.length)
  expect(logged).not.toMatch(/a-secret-(subject|kid)/)
  for (const part of sent.flatMap((text) => text.split('.'))) expect(logged).not.toContain(part)
})
