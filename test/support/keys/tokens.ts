import { constants, type KeyObject, sign } from 'node:crypto'
import type { Algorithm, JwsAlgorithm } from '../../../packages/intake/src/algorithms.ts'
import { rememberSecret } from '../secrets.ts'
import { freshPair } from './key-pairs.ts'
import { ecKey, edKey, exported, rsaKey, type TestKey } from './pem.ts'

/** The JWS algorithm behind a registered one. */
export function jwsAlgorithm(algorithm: Algorithm): JwsAlgorithm {
  return algorithm === 'RSA' ? 'RS256' : algorithm
}

const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const

/** A fresh key pair that fits the algorithm. */
export function keyFor(algorithm: Algorithm): TestKey {
  switch (algorithm) {
    case 'ES256':
    case 'ES384':
    case 'ES512':
      return ecKey(curves[algorithm])
    case 'EdDSA':
    case 'Ed25519':
      return edKey()
    case 'ML-DSA-44':
    case 'ML-DSA-65':
    case 'ML-DSA-87':
      return exported(freshPair(algorithm))
    default:
      return rsaKey()
  }
}

export function base64url(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}

/**
 * A JWT signed by node:crypto as the header's `alg` says, with the header as given. Its claims and
 * signature are remembered as a secret. Its header is public: the kid in it can share its first
 * characters with another id, which a ledger proof has in base64 too.
 */
export function signToken(
  key: KeyObject,
  header: { alg: JwsAlgorithm; [name: string]: unknown },
  claims: Record<string, unknown> = {},
): string {
  const input = `${base64url(header)}.${base64url(claims)}`
  const signed = signature(header.alg, key, Buffer.from(input)).toString('base64url')
  rememberSecret('a token', `${base64url(claims)}.${signed}`)
  return `${input}.${signed}`
}

function signature(alg: JwsAlgorithm, key: KeyObject, input: Buffer): Buffer {
  const digest = `sha${alg.slice(2)}`
  switch (alg.slice(0, 2)) {
    case 'RS':
      return sign(digest, input, key)
    case 'PS':
      return sign(digest, input, {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      })
    case 'ES':
      return sign(digest, input, { key, dsaEncoding: 'ieee-p1363' })
    default:
      return sign(null, input, key)
  }
}
