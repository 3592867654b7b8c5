/**
 * The values of a JWT key's `algorithm`. `RSA` means RS256; every other name is a JWS algorithm (RFC
 * 7518, RFC 8037, RFC 9864, RFC 9964).
 */
export const algorithmNames = [
  'RSA',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'ML-DSA-44',
  'ML-DSA-65',
  'ML-DSA-87',
] as const

export type Algorithm = (typeof algorithmNames)[number]

export function isAlgorithm(name: unknown): name is Algorithm {
  return algorithmNames.some((algorithm) => algorithm === name)
}

/** A JWS `alg`, as in the JWKS and in the header of tokens. */
export type JwsAlgorithm = Exclude<Algorithm, 'RSA'>

export const jwsAlgorithmNames = algorithmNames.filter((name) => name !== 'RSA')

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

/**
 * Whether a key belongs in `jwks.json`. One ML-DSA key (AKP, RFC 9964) in a set makes common
 * verifiers reject the whole set, and with it every token of the project.
 */
export function isInCommonJwks({ algorithm }: { algorithm: string }): boolean {
  return !algorithm.startsWith('ML-DSA')
}
