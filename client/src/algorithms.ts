/** The values of a key's `algorithm`. `RSA` means RS256; every other one is what tokens carry as `alg`. */
export const algorithms = [
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

/** What tokens signed with a key carry as `alg`; `RSA` means RS256. */
export type Algorithm = (typeof algorithms)[number]

/** A JWS `alg`: what the JWKS publishes and a token carries. */
export type JwsAlgorithm = Exclude<Algorithm, 'RSA'>
