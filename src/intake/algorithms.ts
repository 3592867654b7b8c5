import type { Algorithm, JwsAlgorithm } from '../contract/algorithms.ts'
import { fault } from './fault.ts'
import type { ParsedKey } from './parsed-key.ts'
import type { Fault } from './types.ts'

/** The JWS algorithm of each value of `algorithm` (RFC 7518 section 3.1, RFC 9864, RFC 9964). */
const jwsAlgorithms: Readonly<Record<Algorithm, JwsAlgorithm>> = {
  RSA: 'RS256',
  RS256: 'RS256',
  RS384: 'RS384',
  RS512: 'RS512',
  PS256: 'PS256',
  PS384: 'PS384',
  PS512: 'PS512',
  ES256: 'ES256',
  ES384: 'ES384',
  ES512: 'ES512',
  EdDSA: 'EdDSA',
  Ed25519: 'Ed25519',
  'ML-DSA-44': 'ML-DSA-44',
  'ML-DSA-65': 'ML-DSA-65',
  'ML-DSA-87': 'ML-DSA-87',
}

/** The values that fit each kind of key, the usual one first. */
export const fittingAlgorithms = {
  rsaEncryption: ['RSA', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  rsaPss: ['PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['Ed25519', 'EdDSA'],
} as const satisfies Record<string, readonly Algorithm[]>

/** The JWS `alg` that a value of `algorithm` means. */
export function jwsAlgorithmOf(algorithm: Algorithm): JwsAlgorithm {
  return jwsAlgorithms[algorithm]
}

/** Refuses an algorithm that the key cannot verify (RFC 8725 section 3.1). */
export function checkAlgorithm(key: ParsedKey, algorithm: Algorithm | undefined): Fault[] {
  if (algorithm === undefined || key.algorithms.includes(algorithm)) return []
  if (key.algorithms.length === 0) return []
  const fitting = key.algorithms.join(', ')
  const detail = `algorithm is ${algorithm} but the key is ${key.name}. It fits: ${fitting}.`
  return [fault('algorithm_mismatch', detail)]
}
