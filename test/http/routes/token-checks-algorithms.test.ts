import { createHmac, sign } from 'node:crypto'
import { exportJWK, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { algorithmNames } from '../../../src/contract/algorithms.ts'
import { tokenCheckSteps } from '../../../src/contract/checks/tokens.ts'
import { noon, startTokenChecks } from '../../support/app/token-checks.ts'
import { rsaKey } from '../../support/keys/pem.ts'
import { base64url, jwsAlgorithm, keyFor, signToken } from '../../support/keys/tokens.ts'

const seconds = noon / 1000

const server = await startTokenChecks()

describe.each(algorithmNames)('%s', (algorithm) => {
  test('a right token passes every step', async () => {
    const claims = { iss: 'https://issuer', aud: ['a', 'b'], exp: seconds + 60, nbf: seconds }
    const { kid } = server.keyOf(algorithm)
    const body = { token: server.token(algorithm, claims), issuer: 'https://issuer', audience: 'b' }
    expect(await server.check(body)).toEqual({
      valid: true,
      steps: tokenCheckSteps.map((step) => ({
        step,
        outcome: 'passed',
        detail: expect.any(String),
      })),
      header: { alg: jwsAlgorithm(algorithm), kid },
      claims,
      key: {
        id: kid,
        label: `a key for ${algorithm}`,
        jwsAlgorithm: jwsAlgorithm(algorithm),
        active: true,
      },
    })
  })

  test('a token that jose signed passes too', async () => {
    const { privateKey, kid } = server.keyOf(algorithm)
    const signed = await new SignJWT({ sub: 'alice', iss: server.issuer })
      .setProtectedHeader({ alg: jwsAlgorithm(algorithm), kid })
      .sign(privateKey)
    expect(await server.check({ token: signed })).toMatchObject({ valid: true })
  })

  test('another private key is signature_invalid', async () => {
    const { kid } = server.keyOf(algorithm)
    const stranger = keyFor(algorithm).privateKey
    const forged = signToken(stranger, { alg: jwsAlgorithm(algorithm), kid })
    expect(await server.failure({ token: forged })).toMatchObject({ reason: 'signature_invalid' })
  })

  test('changed claims are signature_invalid', async () => {
    const [header, , signature] = server.token(algorithm, { sub: 'alice' }).split('.')
    const changed = `${header}.${base64url({ sub: 'admin' })}.${signature}`
    expect(await server.failure({ token: changed })).toMatchObject({ reason: 'signature_invalid' })
  })

  test('the alg of another family is algorithm_mismatch, before any signature is looked at', async () => {
    const { kid } = server.keyOf(algorithm)
    const other = algorithm === 'ES256' ? 'ES384' : 'ES256'
    const wrong = signToken(server.keyOf(other).privateKey, { alg: other, kid })
    expect(await server.failure({ token: wrong })).toMatchObject({
      reason: 'algorithm_mismatch',
      step: 'algorithm',
      detail: expect.stringContaining(jwsAlgorithm(algorithm)),
    })
  })
})

describe('the algorithm is the registered one', () => {
  test.each(['none', 'None', 'NONE'])('alg %s without a signature is refused', async (alg) => {
    const { kid } = server.keyOf('RS256')
    const unsigned = `${base64url({ alg, kid })}.${base64url({ sub: 'admin' })}.`
    const report = await server.failure({ token: unsigned })
    expect(report.reason).toBe(alg === 'none' ? 'algorithm_mismatch' : 'malformed_token')
  })

  test.each(['none', 'HS256', 'HS384', 'HS512'])(
    'alg %s with a signature is refused',
    async (alg) => {
      const { kid } = server.keyOf('RS256')
      const report = await server.failure({
        token: `${base64url({ alg, kid })}.${base64url({})}.AAAA`,
      })
      expect(report.reason).toBe('algorithm_mismatch')
    },
  )

  test.each(['RS256', 'ES256', 'EdDSA'] as const)(
    'HS256 with the public PEM of an %s key as its secret is refused',
    async (algorithm) => {
      const { kid } = server.keyOf(algorithm)
      const url = `/v1/projects/payments/jwt-keys/${kid}`
      const { publicKeyPem } = (await server.send('GET', url)).json()
      for (const secret of [publicKeyPem, publicKeyPem.trim()]) {
        const input = `${base64url({ alg: 'HS256', kid })}.${base64url({ sub: 'admin' })}`
        const mac = createHmac('sha256', secret).update(input).digest('base64url')
        const report = await server.failure({ token: `${input}.${mac}` })
        expect(report).toMatchObject({ reason: 'algorithm_mismatch' })
        expect(report.detail).toContain('no secret')
      }
    },
  )

  test.each([
    ['rs256', 'RS256'],
    ['RS512', 'RS256'],
    ['PS256', 'RS256'],
    ['Ed25519', 'EdDSA'],
    ['EdDSA', 'Ed25519'],
    ['RSA', 'RSA'],
  ] as const)('%s is not what a key for %s verifies', async (alg, algorithm) => {
    const { kid } = server.keyOf(algorithm)
    const report = await server.failure({
      token: `${base64url({ alg, kid })}.${base64url({})}.AAAA`,
    })
    expect(report.reason).toBe('algorithm_mismatch')
  })

  test.each([undefined, null, 256, ['RS256'], {}])('alg %j is no algorithm', async (alg) => {
    const { kid } = server.keyOf('RS256')
    const report = await server.failure({
      token: `${base64url({ alg, kid })}.${base64url({})}.AAAA`,
    })
    expect(report).toMatchObject({ reason: 'algorithm_mismatch' })
  })

  test('what the header says is repeated shortly and without control characters', async () => {
    const alg = `\u001b[31m\u009b\u202e${'x'.repeat(5_000)}`
    const { kid } = server.keyOf('RS256')
    const { detail } = await server.failure({
      token: `${base64url({ alg, kid })}.${base64url({})}.AAAA`,
    })
    expect(detail).toMatch(/^\P{C}+$/u)
    expect(detail?.length).toBeLessThan(300)
  })
})

describe('the signature', () => {
  test('a key in the header (jwk, jku, x5c) is ignored', async () => {
    const stranger = rsaKey()
    const { kid } = server.keyOf('RS256')
    const jwk = { ...(await exportJWK(stranger.privateKey)), kid }
    const members = { jwk, jku: 'http://127.0.0.1:1/', x5c: ['AAAA'], x5u: 'http://127.0.0.1:1/' }
    const forged = signToken(stranger.privateKey, { alg: 'RS256', kid, ...members })
    expect(await server.failure({ token: forged })).toMatchObject({ reason: 'signature_invalid' })
    expect(await server.check({ token: server.token('RS256', {}, members) })).toMatchObject({
      valid: true,
    })
  })

  test.each(['ES256', 'ES384', 'ES512'] as const)(
    '%s in DER is distinguished from a wrong one',
    async (alg) => {
      const { privateKey, kid } = server.keyOf(alg)
      const input = `${base64url({ alg, kid })}.${base64url({})}`
      const der = sign(`sha${alg.slice(2)}`, Buffer.from(input), privateKey)
      const report = await server.failure({ token: `${input}.${der.toString('base64url')}` })
      expect(report).toMatchObject({ reason: 'signature_invalid' })
      expect(report.detail).toContain('DER')
    },
  )

  test.each([1, 63, 65, 255, 257, 8_000])('%i octets are signature_invalid', async (length) => {
    for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA', 'ML-DSA-44'] as const) {
      const [header, claims] = server.token(algorithm).split('.')
      const text = `${header}.${claims}.${Buffer.alloc(length, 1).toString('base64url')}`
      expect(await server.failure({ token: text })).toMatchObject({ reason: 'signature_invalid' })
    }
  })
})
