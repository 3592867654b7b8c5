import type { Algorithm, JwsAlgorithm } from '../contract/algorithms.ts'
import type { ParsedKey } from './parsed-key.ts'
import type { Fault } from './types.ts'

/**
 * The values of `algorithm` that match each kind of key, the default one first. EdDSA precedes
 * Ed25519 (RFC 9864), which few verifiers know yet.
 */
export const matchingAlgorithms = {
  rsaEncryption: ['RSA', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  rsaPss: ['PS256', 'PS384', 'PS512'],
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
} as const satisfies Record<string, readonly Algorithm[]>

/** The JWS `alg` for a value of `algorithm`. */
export function jwsAlgorithmOf(algorithm: Algorithm): JwsAlgorithm {
  return algorithm === 'RSA' ? 'RS256' : algorithm
}

/** Rejects an algorithm that the key cannot verify (RFC 8725 section 3.1). */
export function checkAlgorithm(key: ParsedKey, algorithm: Algorithm | undefined): Fault[] {
  const { algorithms, name } = key
  if (algorithm === undefined || algorithms.length === 0 || algorithms.includes(algorithm))
    return []
  const detail = `algorithm is ${algorithm}, but the key is ${name}. Use one of: ${algorithms.join(', ')}.`
  return [{ code: 'algorithm_mismatch', detail }]
}
