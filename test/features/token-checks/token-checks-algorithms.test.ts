import { createHmac, sign } from 'node:crypto'
import { exportJWK, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { algorithmNames } from '../../../packages/intake/src/algorithms.ts'
import { tokenCheckSteps } from '../../../packages/server/src/features/token-checks/contract.ts'
import { registerKey } from '../../support/app/keys.ts'
import { noon, startTokenChecks } from '../../support/app/token-checks.ts'
import { ecKey, rsaKey } from '../../support/keys/pem.ts'
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

describe('a kid that is not one', () => {
  const keyOf = async (algorithm: 'RS256' | 'ES256') => {
    const { kid } = server.keyOf(algorithm)
    return (await server.send('GET', `/v1/projects/payments/jwt-keys/${kid}`)).json()
  }

  test.each<[string, (key: { id: string; details: Record<string, string> }) => string, RegExp]>([
    ['a blank before it', ({ id }) => ` ${id}`, /white space/],
    ['a line break after it', ({ id }) => `${id}\n`, /white space/],
    ['the label', () => 'a key for RS256', /is the label of a key/],
    ['the thumbprint', ({ details }) => `${details.thumbprint}`, /is the thumbprint of a key/],
    ['spkiSha256', ({ details }) => `${details.spkiSha256}`, /is the spkiSha256 of a key/],
    ['spkiSha256 in upper case', ({ details }) => `${details.spkiSha256}`.toUpperCase(), /spkiSha/],
  ])('%s: kid_unknown, with the right one', async (_name, kidOf, cause) => {
    const key = await keyOf('RS256')
    const token = server.token('RS256', {}, { kid: kidOf(key) })
    const report = await server.failure({ token })
    expect(report).toMatchObject({ reason: 'kid_unknown', step: 'kid_known' })
    expect(report.detail).toMatch(cause)
    expect(report.detail).toContain(key.id)
    expect(report.detail).toContain('The signature fits the key “a key for RS256”')
  })

  test('the label of several keys names none of them, but the signature does', async () => {
    const [first, second] = [ecKey(), ecKey()]
    const ids = []
    for (const { publicKeyPem } of [first, second]) {
      ids.push(await registerKey(server, { name: 'twins', publicKeyPem }))
    }
    const token = signToken(second.privateKey, { alg: 'ES256', kid: 'twins' })
    const { detail } = await server.failure({ token })
    expect(detail).toContain('label of several keys')
    expect(detail).toContain(`set the kid to ${ids[1]}`)
    expect(detail).not.toContain(ids[0])
  })

  test.each([
    ['unknown', { kid: 'x' }, 'kid_unknown'],
    ['missing', { kid: undefined }, 'kid_missing'],
    ['a number', { kid: 7 }, 'kid_missing'],
  ])('%s: says which key the signature fits', async (_name, header, reason) => {
    for (const algorithm of ['RS256', 'PS384', 'ES512', 'EdDSA', 'ML-DSA-44'] as const) {
      const report = await server.failure({ token: server.token(algorithm, {}, header) })
      expect(report.reason).toBe(reason)
      expect(report.detail).toContain(`set the kid to ${server.keyOf(algorithm).kid}`)
    }
  })

  test('says that the signature fits none', async () => {
    const token = signToken(ecKey().privateKey, { alg: 'ES256', kid: 'x' })
    const { detail } = await server.failure({ token })
    expect(detail).toContain('The signature fits no key of the project')
  })

  test('a token without a signature fits nothing', async () => {
    const unsigned = `${base64url({ alg: 'none', kid: 'x' })}.${base64url({})}.`
    const { detail } = await server.failure({ token: unsigned })
    expect(detail).not.toContain('fits')
  })
})

describe('a signature of another length', () => {
  const parts = (algorithm: 'RS256' | 'ES256' | 'EdDSA') => {
    const [header = '', claims = '', signature = ''] = server.token(algorithm).split('.')
    return { input: `${header}.${claims}`, bytes: Buffer.from(signature, 'base64url') }
  }
  const detailOf = async (token: string) => {
    const report = await server.failure({ token })
    expect(report).toMatchObject({ reason: 'signature_invalid', step: 'signature' })
    return report.detail
  }

  test.each([
    ['RS256', /with this key needs 256 bytes/],
    ['ES256', /R and S with 32 bytes each, 64 in total/],
    ['EdDSA', /with this key needs 64 bytes/],
  ] as const)('%s: its encoding is named, and what is expected', async (algorithm, expected) => {
    const { input, bytes } = parts(algorithm)
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    const cases: [string, RegExp][] = [
      [bytes.toString('hex'), /is in hexadecimal;/],
      [bytes.toString('hex').toUpperCase(), /is in hexadecimal;/],
      [encode(bytes.toString('hex')), /hexadecimal and then in base64url/],
      // A zero in ASCII is the first byte of a signature in DER.
      [encode(`0${bytes.toString('hex').slice(1)}`), /hexadecimal and then in base64url/],
      [encode(bytes.toString('base64')), /is in base64 twice/],
      [encode(bytes.toString('base64url')), /is in base64 twice/],
      [bytes.subarray(1).toString('base64url'), /Keep leading zero bytes/],
      [bytes.subarray(0, 20).toString('base64url'), /has 20 bytes/],
      [Buffer.concat([bytes, bytes]).toString('base64url'), /another key/],
    ]
    for (const [signature, cause] of cases) {
      const detail = await detailOf(`${input}.${signature}`)
      expect(detail).toMatch(cause)
      expect(detail).toMatch(expected)
    }
  })

  test('ES256 in DER names how to avoid it', async () => {
    const { input } = parts('ES256')
    const der = sign('sha256', Buffer.from(input), server.keyOf('ES256').privateKey)
    expect(await detailOf(`${input}.${der.toString('base64url')}`)).toMatch(/in DER.*ieee-p1363/)
  })
})
