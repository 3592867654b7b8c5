import { createPrivateKey } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { JSONWebKeySet } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Algorithm, algorithmNames } from '../../packages/intake/src/algorithms.ts'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, rsaKey } from '../support/keys/pem.ts'
import { jwsAlgorithm, keyFor } from '../support/keys/tokens.ts'
import {
  issueToken,
  type RegisteredKey,
  startPublicServer,
  waitUntilPublished,
} from '../support/server/public-server.ts'
import { type VerifierName, verifierNames, verifiers, verifyError } from '../support/verifiers.ts'

/**
 * The algorithms that each library cannot verify, with its error. It must verify all others but ML-DSA,
 * whose keys are in the full set only.
 */
const beyond: Record<VerifierName, Partial<Record<Algorithm, RegExp>>> = {
  jose: {},
  'jwks-rsa with jsonwebtoken': {
    EdDSA: /invalid algorithm/,
    Ed25519: /invalid algorithm/,
  },
  'aws-jwt-verify': {
    PS256: /algorithm not allowed/,
    PS384: /algorithm not allowed/,
    PS512: /algorithm not allowed/,
    Ed25519: /algorithm not allowed/,
  },
  'get-jwks with jsonwebtoken': {
    EdDSA: /Unsupported key type/,
    Ed25519: /Unsupported key type/,
  },
  'openid-client': {},
}

/** How they report a kid that is not in `jwks.json`, or an `alg` that discovery does not list. */
const unpublished =
  /no applicable key|Unable to find|not found in the JWKS|Not allowed to fetch|No matching JWK|unexpected JWT "alg"/

const server = await startPublicServer()
const issuer = await server.issuer('every-algorithm')
/** A key set with a key for every algorithm. */
const keys = await Promise.all(
  algorithmNames.map((algorithm) => server.register(issuer, algorithm, keyFor(algorithm))),
)
await waitUntilPublished(...keys)

function keyOf(algorithm: Algorithm): RegisteredKey {
  const key = keys.find((candidate) => candidate.algorithm === algorithm)
  if (key === undefined) throw new Error(`no key for ${algorithm}`)
  return key
}

test.each(verifierNames)(
  '%s verifies all algorithms that it knows, and names the others',
  async (name) => {
    const verify = await verifiers[name](issuer)
    for (const key of keys) {
      const found = await verifyError(verify, issueToken(key))
      const isUnpublished = key.algorithm.startsWith('ML-DSA')
      const error = beyond[name][key.algorithm] ?? /^$/
      expect(found, key.algorithm).toMatch(isUnpublished ? unpublished : error)
    }
  },
)

test.each(verifierNames)('%s rejects a token signed by another key under the kid', async (name) => {
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
  // By default jsonwebtoken reads `alg` from the token, not from the key set.
  expect(takers).toEqual(['jwks-rsa with jsonwebtoken'])
})

test('jwks.json has no key type that keeps one of them from reading the others', async () => {
  const { keys: entries } = (await (
    await fetch(`${issuer}/.well-known/jwks.json`)
  ).json()) as JSONWebKeySet
  expect([...new Set(entries.map(({ kty }) => kty))].sort()).toEqual(['EC', 'OKP', 'RSA'])
})

test('each key is published with its one algorithm', async () => {
  const set = (await (await fetch(`${issuer}/.well-known/jwks-full.json`)).json()) as JSONWebKeySet
  const algorithms = new Map(set.keys.map(({ kid, alg }) => [kid, alg]))
  for (const { kid, algorithm } of keys) {
    expect(algorithms.get(kid), algorithm).toBe(jwsAlgorithm(algorithm))
  }
})

test('keys whose coordinates start with a zero byte verify', async () => {
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

/** The libraries' messages for a kid that is not in the key set. */
const unknownKey = /no applicable key|unable to find a signing key|no matching jwk|not found/i

/** The clocks of this process, which the libraries read. The server's clock is not affected. */
const now = Date.now
const { now: monotonic } = performance
let passed = 0

beforeEach(() => {
  passed = 0
  vi.spyOn(Date, 'now').mockImplementation(() => now() + passed * 1000)
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic.call(performance) + passed * 1000)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** Moves the clocks to this many seconds after the start. Some libraries read them once a millisecond. */
async function at(seconds: number): Promise<void> {
  passed = seconds
  await delay(3)
}

/** Two keys in a new project, and a verifier that has used the first. */
async function warm(name: VerifierName, project: string) {
  const issuer = await server.issuer(project)
  const key = await server.register(issuer, 'ES256', ecKey())
  const other = await server.register(issuer, 'ES256', ecKey())
  await waitUntilPublished(key, other)
  const verify = await verifiers[name](issuer)
  expect(await verifyError(verify, issueToken(key))).toBe('')
  return { verify, key, other }
}

test.each([
  ['jose', 600],
  ['jwks-rsa with jsonwebtoken', 600],
  ['openid-client', 300],
] as const)('%s trusts a deactivated key for %i s, and no longer', async (name, seconds) => {
  const { verify, key } = await warm(name, `off-${verifierNames.indexOf(name)}`)
  await server.deactivate(key)
  await at(seconds - 10)
  expect(await verifyError(verify, issueToken(key))).toBe('')
  await at(seconds + 1)
  expect(await verifyError(verify, issueToken(key))).toMatch(unknownKey)
})

test('aws-jwt-verify trusts a deactivated key until it meets an unknown kid', async () => {
  const { verify, key, other } = await warm('aws-jwt-verify', 'off-aws')
  await server.deactivate(key)
  await at(30 * 86_400)
  expect(await verifyError(verify, issueToken(key))).toBe('')
  expect(await verifyError(verify, issueToken({ ...other, kid: 'unknown' }))).toMatch(/not found/)
  expect(await verifyError(verify, issueToken(key))).not.toBe('')
})

test('get-jwks trusts a deactivated key at its next use, and as long as it is used', async () => {
  const { verify, key } = await warm('get-jwks with jsonwebtoken', 'off-get-jwks')
  await server.deactivate(key)
  const token = issueToken(key)
  const month = 30 * 86_400
  for (let seconds = month; seconds <= month + 3_600; seconds += 50) {
    await at(seconds)
    expect(await verifyError(verify, token), `after ${seconds} s`).toBe('')
  }
  await at(month + 3_600 + 61)
  expect(await verifyError(verify, token)).toMatch(unknownKey)
})

test.each([
  ['jose', 30],
  ['jwks-rsa with jsonwebtoken', 0],
  ['aws-jwt-verify', 0],
  ['get-jwks with jsonwebtoken', 0],
  ['openid-client', 60],
] as const)('%s takes a new key %i s after it last read the set', async (name, seconds) => {
  const { verify, key } = await warm(name, `new-${verifierNames.indexOf(name)}`)
  const fresh = await server.register(key.issuer, 'ES256', ecKey())
  await waitUntilPublished(fresh)
  if (seconds > 0) expect(await verifyError(verify, issueToken(fresh))).toMatch(unknownKey)
  await at(seconds)
  expect(await verifyError(verify, issueToken(fresh))).toBe('')
})
