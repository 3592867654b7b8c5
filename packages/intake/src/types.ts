import type { Algorithm, JwsAlgorithm } from './algorithms.ts'
import type { IntakeCode } from './codes.ts'

/** A reason to reject a key or, in `warnings`, to review it. */
export interface Fault {
  code: IntakeCode
  /** Says what is wrong and what to do. Contains numbers and names, never a part of the input. */
  detail: string
  /** Slow rules that were not checked, because this fault already rejects the key. */
  skipped?: IntakeCode[]
}

/** The public members of a JWK (RFC 7517, RFC 7518 section 6, RFC 8037, RFC 9964), no others. */
export type PublicJwk =
  | { kty: 'RSA'; n: string; e: string }
  | { kty: 'EC'; crv: 'P-256' | 'P-384' | 'P-521'; x: string; y: string }
  | { kty: 'OKP'; crv: 'Ed25519'; x: string }
  | { kty: 'AKP'; alg: 'ML-DSA-44' | 'ML-DSA-65' | 'ML-DSA-87'; pub: string }

/** Describes a key that could be read, even if it is rejected for weakness. */
export interface KeyDescription {
  kty: PublicJwk['kty']
  /** RSA: length of the modulus in bits. */
  bits?: number
  /** EC and OKP: the curve as JWK names it. */
  crv?: string
  /** RFC 7638 JWK thumbprint: SHA-256 in base64url without padding, 43 characters. */
  thumbprint: string
  /** SHA-256 of the canonical SPKI DER, in lower-case hex. */
  spkiSha256: string
  /** The values of `algorithm` that match the key, the default one first. */
  algorithms: Algorithm[]
}

/** A key that passed every check, in the canonical form in which it is stored and returned. */
export interface PublicKey extends KeyDescription {
  /** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF (RFC 7468 section 13). */
  publicKeyPem: string
  jwk: PublicJwk
  /**
   * SHA-256, in lower-case hex, of the shortest big-endian bytes of n (RSA) or x (EC), or of the raw
   * bytes (Ed25519, ML-DSA). Keys with the same hash have the same private key or modulus.
   */
  materialSha256: string
}

/**
 * A lossless repair of the text. `pkcs1`, `compressed_point` and `pss_parameters` (default values
 * omitted) are conversions of the encoding; `key_service` takes the key out of the JSON of such a service.
 */
export type Repair =
  | 'bom'
  | 'line_breaks'
  | 'white_space'
  | 'line_width'
  | 'quotes'
  | 'escaped_line_breaks'
  | 'pkcs1'
  | 'compressed_point'
  | 'pss_parameters'
  | 'key_service'

export interface Accepted {
  ok: true
  key: PublicKey
  /** The JWS algorithm that the key is pinned to (`RSA` is RS256). */
  jwsAlgorithm: JwsAlgorithm
  normalised: Repair[]
  warnings: Fault[]
}

export interface Rejected {
  ok: false
  /** All independent faults; the first one determines the error. */
  faults: [Fault, ...Fault[]]
  normalised: Repair[]
  /** Present if the SPKI could be read. */
  key?: KeyDescription
  /**
   * The public key of a submitted private key (`private_key_submitted`), if it could be derived.
   * No other part of the text outlives the call.
   */
  exposed?: ExposedKey
}

/** Hashes of a public key whose private key was submitted. */
export type ExposedKey = Pick<PublicKey, 'thumbprint' | 'materialSha256'>

export type Verdict = Accepted | Rejected
