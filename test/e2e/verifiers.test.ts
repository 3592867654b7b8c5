import { createPrivateKey } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Algorithm, algorithmNames } from '../../src/contract/algorithms.ts'
import { fixture } from '../support/keys/intake.ts'
import { rsaKey } from '../support/keys/pem.ts'
import { jwsAlgorithm, keyFor } from '../support/keys/tokens.ts'
import {
  issueToken,
  type PublicServer,
  type RegisteredKey,
  startPublicServer,
  waitUntilPublished,
} from '../support/server/public-server.ts'
import { type VerifierName, verifierNames, verifiers, verifyError } from '../support/verifiers.ts'

/** What each cannot verify, with the reason it gives; everything else it must. */
const beyond: Record<VerifierName, Partial<Record<Algorithm, RegExp>>> = {
  jose: {},
  'jwks-rsa with jsonwebtoken': {
    EdDSA: /invalid algorithm/,
    Ed25519: /invalid algorithm/,
    'ML-DSA-44': /Unable to find a signing key/,
    'ML-DSA-65': /Unable to find a signing key/,
    'ML-DSA-87': /Unable to find a signing key/,
  },
  'aws-jwt-verify': {
    PS256: /algorithm not allowed/,
    PS384: /algorithm not allowed/,
    PS512: /algorithm not allowed/,
    Ed25519: /algorithm not allowed/,
    'ML-DSA-44': /kty not allowed/,
    'ML-DSA-65': /kty not allowed/,
    'ML-DSA-87': /kty not allowed/,
  },
  'get-jwks with jsonwebtoken': {
    EdDSA: /Unsupported key type/,
    Ed25519: /Unsupported key type/,
    'ML-DSA-44': /Unsupported key type/,
    'ML-DSA-65': /Unsupported key type/,
    'ML-DSA-87': /Unsupported key type/,
  },
  'openid-client': {},
}

let server: PublicServer
let issuer: string
/** One set that has a key of every algorithm. */
let keys: RegisteredKey[]

beforeAll(async () => {
  server = await startPublicServer()
  issuer = await server.issuer('every-algorithm')
  keys = await Promise.all(
    algorithmNames.map((algorithm) => server.register(issuer, algorithm, keyFor(algorithm))),
  )
  await waitUntilPublished(...keys)
})
afterAll(() => server.close())

function keyOf(algorithm: Algorithm): RegisteredKey {
  const key = keys.find((candidate) => candidate.algorithm === algorithm)
  if (key === undefined) throw new Error(`no key for ${algorithm}`)
  return key
}

test.each(verifierNames)(
  '%s verifies all that it knows, and says what it does not',
  async (name) => {
    const verify = await verifiers[name](issuer)
    for (const key of keys) {
      const found = await verifyError(verify, issueToken(key))
      expect(found, key.algorithm).toMatch(beyond[name][key.algorithm] ?? /^$/)
    }
  },
)

test.each(verifierNames)('%s refuses the key of somebody else under the kid', async (name) => {
  const verify = await verifiers[name](issuer)
  const forged = issueToken({ ...keyOf('RS256'), privateKey: rsaKey().privateKey })
  expect(await verifyError(verify, forged)).toMatch(/signature/i)
})

test.each([
  ['RSA', 'RS512'],
  ['RS512', 'RS256'],
  ['PS256', 'RS256'],
] as const)('a key that is pinned by %s does not verify %s', async (algorithm, alg) => {
  const token = issueToken(keyOf(algorithm), alg)
  const takers = []
  for (const name of verifierNames) {
    if ((await verifyError(await verifiers[name](issuer), token)) === '') takers.push(name)
  }
  // jsonwebtoken reads `alg` from the token and not from the key set, unless it is told otherwise.
  expect(takers).toEqual(['jwks-rsa with jsonwebtoken'])
})

test('each key is published with the one algorithm that it is pinned to', async () => {
  const set = (await (await fetch(`${issuer}/.well-known/jwks.json`)).json()) as JSONWebKeySet
  const algorithms = new Map(set.keys.map(({ kid, alg }) => [kid, alg]))
  for (const { kid, algorithm } of keys) {
    expect(algorithms.get(kid), algorithm).toBe(jwsAlgorithm(algorithm))
  }
})

test('keys whose coordinates begin with a zero octet verify like any other', async () => {
  const curves = { p256: 'ES256', p384: 'ES384', p521: 'ES512' } as const
  const short = await server.issuer('short-coordinates')
  const registered: RegisteredKey[] = []
  for (const [curve, algorithm] of Object.entries(curves)) {
    for (const coordinate of ['x', 'y']) {
      const name = `material/ec_${curve}_short_${coordinate}`
      const publicKeyPem = fixture(`${name}.pem`)
      const privateKey = createPrivateKey(fixture(`${name}.key`))
      registered.push(await server.register(short, algorithm, { publicKeyPem, privateKey }))
    }
  }
  await waitUntilPublished(...registered)
  for (const name of verifierNames) {
    const verify = await verifiers[name](short)
    for (const key of registered) expect(await verifyError(verify, issueToken(key)), name).toBe('')
  }
})
