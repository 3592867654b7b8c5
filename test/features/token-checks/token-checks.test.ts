import { createHmac, sign } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { exportJWK, SignJWT } from 'jose'
import { afterEach, describe, expect, test } from 'vitest'
import { type Algorithm, algorithmNames } from '../../../packages/intake/src/algorithms.ts'
import { tokenCheckSteps } from '../../../packages/server/src/features/token-checks/contract.ts'
import { newProject, registerKey } from '../../support/app/keys.ts'
import { checksUrl, noon, startTokenChecks } from '../../support/app/token-checks.ts'
import { ecKey, rsaKey } from '../../support/keys/pem.ts'
import { base64url, jwsAlgorithm, keyFor, signToken } from '../../support/keys/tokens.ts'
import { rememberSecret } from '../../support/secrets.ts'

const seconds = noon / 1000
const nobody = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'

let logged = ''
const logStream = new PassThrough({ encoding: 'utf8' })
logStream.on('data', (text: string) => {
  logged += text
})

const server = await startTokenChecks({ logLevel: 'trace', logStream })

/** A token for this key with a header of its own, and a signature of three bytes. */
const forged = (algorithm: Algorithm, header: object) =>
  `${base64url({ kid: server.keyOf(algorithm).kid, ...header })}.${base64url({})}.AAAA`

test.each(algorithmNames)('%s: right tokens pass every step, and no others', async (algorithm) => {
  const alg = jwsAlgorithm(algorithm)
  const { kid, privateKey } = server.keyOf(algorithm)
  const claims = { iss: 'https://issuer', aud: ['a', 'b'], exp: seconds + 60, nbf: seconds }
  const body = { token: server.token(algorithm, claims), issuer: 'https://issuer', audience: 'b' }
  const [label, detail] = [`a key for ${algorithm}`, expect.any(String)]
  expect(await server.check(body)).toEqual({
    valid: true,
    steps: tokenCheckSteps.map((step) => ({ step, outcome: 'passed', detail })),
    header: { alg, kid },
    claims,
    key: { id: kid, label, jwsAlgorithm: alg, active: true },
  })
  const byJose = new SignJWT({ sub: 'alice', iss: server.issuer }).setProtectedHeader({ alg, kid })
  expect(await server.check({ token: await byJose.sign(privateKey) })).toMatchObject({
    valid: true,
  })

  const [header, , signature] = server.token(algorithm, { sub: 'alice' }).split('.')
  for (const token of [
    signToken(keyFor(algorithm).privateKey, { alg, kid }),
    `${header}.${base64url({ sub: 'admin' })}.${signature}`,
  ]) {
    expect(await server.failure({ token })).toMatchObject({ reason: 'signature_invalid' })
  }
  // Before any signature is looked at.
  const other = algorithm === 'ES256' ? 'ES384' : 'ES256'
  const wrong = signToken(server.keyOf(other).privateKey, { alg: other, kid })
  expect(await server.failure({ token: wrong })).toMatchObject({
    reason: 'algorithm_mismatch',
    step: 'algorithm',
    detail: expect.stringContaining(alg),
  })
})

describe('the algorithm is the registered one:', () => {
  test.each<[unknown, Algorithm]>([
    ...['none', 'HS256', 'HS512', 'rs256', 'RS512', 'PS256'].map((alg): [string, Algorithm] => [
      alg,
      'RS256',
    ]),
    ['Ed25519', 'EdDSA'],
    ['EdDSA', 'Ed25519'],
    ['RSA', 'RSA'],
    ...[undefined, null, 256, ['RS256'], {}].map((alg): [unknown, Algorithm] => [alg, 'RS256']),
  ])('%j is not what a key for %s verifies', async (alg, algorithm) => {
    const report = await server.failure({ token: forged(algorithm, { alg }) })
    expect(report).toMatchObject({ reason: 'algorithm_mismatch' })
  })

  test.each(['none', 'NONE'])('%s without a signature is refused', async (alg) => {
    const report = await server.failure({ token: forged('RS256', { alg }).replace('AAAA', '') })
    expect(report.reason).toBe(alg === 'none' ? 'algorithm_mismatch' : 'malformed_token')
  })

  test.each(['RS256', 'EdDSA'] as const)(
    'HS256 with the public PEM of an %s key as its secret is refused',
    async (algorithm) => {
      const { kid, publicKeyPem } = server.keyOf(algorithm)
      for (const secret of [publicKeyPem, publicKeyPem.trim()]) {
        const input = `${base64url({ alg: 'HS256', kid })}.${base64url({ sub: 'admin' })}`
        const mac = createHmac('sha256', secret).update(input).digest('base64url')
        const report = await server.failure({ token: `${input}.${mac}` })
        expect(report).toMatchObject({ reason: 'algorithm_mismatch' })
        expect(report.detail).toContain('no secret')
      }
    },
  )

  test('what the header says is repeated shortly and without control characters', async () => {
    const alg = `\u001b[31m\u009b\u202e${'x'.repeat(5_000)}`
    const { detail } = await server.failure({ token: forged('RS256', { alg }) })
    expect(detail).toMatch(/^\P{C}+$/u)
    expect(detail.length).toBeLessThan(300)
  })

  test('a key in the header (jwk, jku, x5c) is ignored', async () => {
    const stranger = rsaKey()
    const { kid } = server.keyOf('RS256')
    const jwk = { ...(await exportJWK(stranger.privateKey)), kid }
    const members = { jwk, jku: 'http://127.0.0.1:1/', x5c: ['AAAA'], x5u: 'http://127.0.0.1:1/' }
    const token = signToken(stranger.privateKey, { alg: 'RS256', kid, ...members })
    expect(await server.failure({ token })).toMatchObject({ reason: 'signature_invalid' })
    expect(await server.check({ token: server.token('RS256', {}, members) })).toMatchObject({
      valid: true,
    })
  })
})

describe('the kid', () => {
  test.each<[string, object, string]>([
    ['unknown', { kid: 'x' }, 'kid_unknown'],
    ['absent', { kid: undefined }, 'kid_missing'],
    ['empty', { kid: '' }, 'kid_missing'],
    ['a number', { kid: 7 }, 'kid_missing'],
    ['an object', { kid: { toString: 1 } }, 'kid_missing'],
  ])('%s: the report says which key the signature fits', async (_name, header, reason) => {
    for (const algorithm of ['RS256', 'PS384', 'ES512', 'EdDSA', 'ML-DSA-44'] as const) {
      const report = await server.failure({ token: server.token(algorithm, {}, header) })
      expect(report.reason).toBe(reason)
      expect(report.detail).toContain(`set the kid to ${server.keyOf(algorithm).kid}`)
      expect(report).not.toHaveProperty('key')
    }
  })

  test.each<[string, (key: { id: string; details: Record<string, string> }) => string, RegExp]>([
    ['a blank before it', ({ id }) => ` ${id}`, /white space/],
    ['a line break after it', ({ id }) => `${id}\n`, /white space/],
    ['in upper case', ({ id }) => id.toUpperCase(), /in lower case/],
    ['the label', () => 'a key for RS256', /is the label of a key/],
    ['the thumbprint', ({ details }) => `${details.thumbprint}`, /is the thumbprint of a key/],
    ['spkiSha256', ({ details }) => `${details.spkiSha256}`, /is the spkiSha256 of a key/],
    ['spkiSha256 in upper case', ({ details }) => `${details.spkiSha256}`.toUpperCase(), /spkiSha/],
  ])('%s is not that of the key, which is named', async (_name, kidOf, cause) => {
    const { kid } = server.keyOf('RS256')
    const key = (await server.send('GET', `/v1/projects/payments/jwt-keys/${kid}`)).json()
    const report = await server.failure({
      token: server.token('RS256', {}, { kid: kidOf(key) }),
    })
    expect(report).toMatchObject({ reason: 'kid_unknown', step: 'kid_known' })
    expect(report.detail).toMatch(cause)
    expect(report.detail).toContain(kid)
    expect(report.detail).toContain('The signature fits the key “a key for RS256”')
  })

  test('as the label of several keys names none of them, but the signature does', async () => {
    const [first, second] = [ecKey(), ecKey()]
    const ids: string[] = []
    for (const { publicKeyPem } of [first, second]) {
      ids.push(await registerKey(server, { name: 'twins', publicKeyPem }))
    }
    const token = signToken(second.privateKey, { alg: 'ES256', kid: 'twins' })
    const { detail } = await server.failure({ token })
    expect(detail).toContain('label of several keys')
    expect(detail).toContain(`set the kid to ${ids[1]}`)
    expect(detail).not.toContain(ids[0])
  })

  test('of another project is as unknown as one that never was', async () => {
    const other = await newProject(server, 'other')
    const { publicKeyPem, privateKey } = ecKey()
    const kid = await registerKey(server, { publicKeyPem }, other.keys)
    const [foreign, unknown] = await Promise.all(
      [kid, nobody].map((each) =>
        server.failure({ token: signToken(privateKey, { alg: 'ES256', kid: each }) }),
      ),
    )
    expect(foreign?.reason).toBe('kid_unknown')
    expect(foreign?.detail).toContain('The signature fits no key of the project')
    expect({ ...foreign, header: {} }).toEqual({ ...unknown, header: {} })
  })

  test('is not repeated at any length, and fits nothing without a signature', async () => {
    const long = await server.failure({
      token: server.token('RS256', {}, { kid: 'k'.repeat(9_000) }),
    })
    expect(long.detail).not.toContain('kkk')
    const unsigned = `${base64url({ alg: 'none', kid: 'x' })}.${base64url({})}.`
    expect((await server.failure({ token: unsigned })).detail).not.toContain('fits')
  })
})

describe('key_inactive', () => {
  afterEach(() => server.setClock(noon))

  test('a key that is switched off', async () => {
    const { publicKeyPem, privateKey } = ecKey()
    const kid = await registerKey(server, { publicKeyPem, active: false })
    const report = await server.failure({ token: signToken(privateKey, { alg: 'ES256', kid }) })
    expect(report).toMatchObject({ reason: 'key_inactive', key: { id: kid, active: false } })
    expect(report.detail).toContain('deactivated')
  })

  test('a key is trusted until the millisecond before its expireTime', async () => {
    const { publicKeyPem, privateKey } = ecKey()
    const expireTime = new Date(noon + 5_000).toISOString()
    const kid = await registerKey(server, { publicKeyPem, expireTime })
    const token = signToken(privateKey, { alg: 'ES256', kid }, { iss: server.issuer })
    server.setClock(noon + 4_999)
    expect(await server.check({ token })).toMatchObject({ valid: true })
    server.setClock(noon + 5_000)
    const report = await server.failure({ token })
    expect(report).toMatchObject({ reason: 'key_inactive', key: { active: false } })
    expect(report.detail).toContain(expireTime)
  })
})

describe('the report', () => {
  test('of a text that is no token has neither header nor key', async () => {
    const report = await server.failure({ token: 'garbage' })
    expect(report).toMatchObject({ reason: 'malformed_token', step: 'well_formed' })
    for (const member of ['header', 'claims', 'key']) expect(report).not.toHaveProperty(member)
  })

  test.each([
    [{ exp: seconds }, {}, 'token_expired'],
    [{ nbf: seconds + 1 }, {}, 'token_not_yet_valid'],
    [{ iss: 'https://issuer' }, {}, 'issuer_mismatch'],
    [{}, { issuer: 'https://issuer' }, 'issuer_mismatch'],
    [{ aud: 'a' }, { audience: 'b' }, 'audience_mismatch'],
  ])('of the claims %j, for %j, says %s', async (claims, expected, reason) => {
    const token = server.token('ES256', claims)
    expect(await server.failure({ token, ...expected })).toMatchObject({ reason })
  })

  test('warns of what some verifiers reject, and of what was not compared says that', async () => {
    const { kid, privateKey } = server.keyOf('RS256')
    const head = Buffer.from(`{"alg":"RS256","kid":"x","kid":"${kid}"}`).toString('base64url')
    const input = `${head}.${base64url({ iss: server.issuer })}`
    const signature = sign('sha256', Buffer.from(input), privateKey).toString('base64url')
    const { valid, steps } = await server.check({
      token: rememberSecret('a token', `${input}.${signature}`),
    })
    expect(valid).toBe(true)
    const outcomes = Object.fromEntries(steps.map(({ step, outcome }) => [step, outcome]))
    const expected = { well_formed: 'warned', exp: 'warned', nbf: 'skipped', aud: 'skipped' }
    expect(outcomes).toMatchObject({ ...expected, iss: 'passed' })
    expect(steps[0]?.detail).toContain('the member “kid” twice. Some verifiers reject')
  })

  test('gives claims of 12,000 levels back', async () => {
    const deep = `{"a":${'['.repeat(12_000)}${']'.repeat(12_000)}}`
    const token = `${base64url({ alg: 'RS256' })}.${Buffer.from(deep).toString('base64url')}.AAAA`
    const answer = await server.send('POST', checksUrl, { body: { token } })
    expect(answer.json()).toMatchObject({ reason: 'kid_missing' })
  })

  test('has members named like those of every object like any other', async () => {
    const members = `{"__proto__":{"exp":1},"constructor":1,"toString":2,"iss":"${server.issuer}"}`
    const { kid, privateKey } = server.keyOf('RS256')
    const head = Buffer.from(`{"alg":"RS256","kid":"${kid}","__proto__":{"x":1}}`)
    const text = `${head.toString('base64url')}.${Buffer.from(members).toString('base64url')}`
    const signature = sign('sha256', Buffer.from(text), privateKey).toString('base64url')
    const answer = await server.send('POST', checksUrl, { body: { token: `${text}.${signature}` } })
    expect(answer.json()).toMatchObject({ valid: true })
    expect(answer.body).toContain(`"claims":${members}`)
  })
})

test.each([
  [{}, '/token', 'required'],
  [{ token: 'x', audience: '' }, '/audience', 'too_short'],
  [{ token: 'x', issuer: null }, '/issuer', 'wrong_type'],
  [{ token: 'x', aud: 'b' }, '/aud', 'unknown_field'],
])('the request %j is refused', async (body, pointer, code) => {
  const answer = await server.send('POST', checksUrl, { body })
  expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer, code }] })
})

test('no part of any token reaches the log, with any result and at any level', async () => {
  const sent: string[] = []
  const post = async (text: string, body: unknown = { token: text }) => {
    sent.push(text)
    await server.send('POST', checksUrl, { body })
  }
  const secret = { sub: 'a-secret-subject-of-this-test' }
  await post(server.token('RS256', secret))
  await post(server.token('ES256', { ...secret, exp: 1 }))
  await post(server.token('ES256', secret, { kid: 'a-secret-kid-of-this-test' }))
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
