import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
} from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, importJWK, importSPKI, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import type { JwsAlgorithm } from '../../packages/intake/src/algorithms.ts'
import type { Accepted } from '../../packages/intake/src/types.ts'
import { accepted, fixture } from '../support/keys/intake.ts'

const pss = (bits: number) => ({ padding: 6, saltLength: bits / 8 })
const ieee = { dsaEncoding: 'ieee-p1363' } as const

/** Hash and options of `crypto.sign` for each algorithm (RFC 7518 section 3.1). */
const signing: Record<JwsAlgorithm, [string | null, object]> = {
  RS256: ['sha256', {}],
  RS384: ['sha384', {}],
  RS512: ['sha512', {}],
  PS256: ['sha256', pss(256)],
  PS384: ['sha384', pss(384)],
  PS512: ['sha512', pss(512)],
  ES256: ['sha256', ieee],
  ES384: ['sha384', ieee],
  ES512: ['sha512', ieee],
  EdDSA: [null, {}],
  Ed25519: [null, {}],
  'ML-DSA-44': [null, {}],
  'ML-DSA-65': [null, {}],
  'ML-DSA-87': [null, {}],
}

function token(alg: JwsAlgorithm, key: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg, kid: 'k' })}.${part({ sub: 'alice' })}`
  const [hash, options] = signing[alg]
  const signature = sign(hash, Buffer.from(input), { key, ...options })
  return `${input}.${signature.toString('base64url')}`
}

async function expectVerifies(verdict: Accepted, privateKey: KeyObject): Promise<void> {
  const { key, jwsAlgorithm } = verdict
  const published = { ...key.jwk, kid: 'k', use: 'sig', alg: jwsAlgorithm }
  const verifier = await importJWK(published, jwsAlgorithm)
  const { payload } = await jwtVerify(token(jwsAlgorithm, privateKey), verifier)
  expect(payload.sub).toBe('alice')
  expect(key.thumbprint).toBe(await calculateJwkThumbprint({ ...key.jwk }))
}

describe('a token signed with the private key verifies with the published JWK', () => {
  const material = [
    'rsa2048',
    'rsa3072',
    'rsa4096',
    'ec_p256',
    'ec_p256_short_x',
    'ec_p256_short_y',
    'ec_p384',
    'ec_p384_short_x',
    'ec_p384_short_y',
    'ec_p521',
    'ec_p521_short_x',
    'ec_p521_short_y',
    'ed25519',
  ]
  test.each(material)('%s', async (name) => {
    const privateKey = createPrivateKey(fixture(`material/${name}.key`))
    const { key } = accepted(fixture(`material/${name}.pem`))
    for (const algorithm of key.algorithms) {
      const verdict = accepted(fixture(`material/${name}.pem`), algorithm)
      expect(verdict.jwsAlgorithm).toBe(algorithm === 'RSA' ? 'RS256' : algorithm)
      await expectVerifies(verdict, privateKey)
      const imported = await importSPKI(key.publicKeyPem, verdict.jwsAlgorithm, {
        extractable: true,
      })
      expect(await exportJWK(imported)).toMatchObject(key.jwk)
    }
  })

  test('coordinates have their full length (RFC 7518 section 6.2.1)', () => {
    const sizes = { ec_p256: 43, ec_p384: 64, ec_p521: 88 }
    for (const [name, length] of Object.entries(sizes)) {
      for (const short of ['x', 'y']) {
        const { jwk } = accepted(fixture(`material/${name}_short_${short}.pem`)).key
        expect(jwk).toMatchObject({ kty: 'EC' })
        expect(Object.values(jwk).map(String)).toSatisfy((values: string[]) =>
          values.slice(2).every((value) => value.length === length),
        )
      }
    }
  })

  test.each(['ml-dsa-44', 'ml-dsa-65', 'ml-dsa-87'] as const)('%s', async (name) => {
    const { publicKey, privateKey } = generateKeyPairSync(name)
    const verdict = accepted(publicKey.export({ type: 'spki', format: 'pem' }).toString())
    expect(verdict.jwsAlgorithm).toBe(name.toUpperCase())
    await expectVerifies(verdict, privateKey)
  })

  test.each([
    ['sha256', 'PS256'],
    ['sha384', 'PS384'],
    ['sha512', 'PS512'],
  ] as const)('RSA-PSS restricted to %s', async (hashAlgorithm, algorithm) => {
    const restrictions = { hashAlgorithm, mgf1HashAlgorithm: hashAlgorithm }
    const pair = generateKeyPairSync('rsa-pss', { modulusLength: 2048, ...restrictions })
    const text = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const verdict = accepted(text)
    expect(verdict.key.algorithms).toEqual([algorithm])
    expect(verdict.key.publicKeyPem).toBe(text)
    await expectVerifies(verdict, pair.privateKey)
  })

  test('RSA-PSS without restrictions', async () => {
    const pair = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
    const text = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    for (const algorithm of ['PS256', 'PS384', 'PS512'] as const) {
      await expectVerifies(accepted(text, algorithm), pair.privateKey)
    }
  })
})

test('materialSha256 hashes the shortest number or the raw bytes', () => {
  const names = ['rsa2048', 'ec_p256_short_x', 'ed25519']
  for (const name of names) {
    const { key } = accepted(fixture(`material/${name}.pem`))
    const jwk = createPublicKey(fixture(`material/${name}.pem`)).export({ format: 'jwk' })
    const bytes = Buffer.from((jwk.n ?? jwk.x) as string, 'base64url')
    const minimal = name === 'ed25519' ? bytes : bytes.subarray(bytes.findIndex((o) => o > 0))
    expect(key.materialSha256).toBe(hash('sha256', minimal, 'hex'))
  }
})
