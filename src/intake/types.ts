import type { Algorithm, JwsAlgorithm } from '../contract/algorithms.ts'
import type { IntakeCode } from './codes/index.ts'

/** One reason to refuse a key, or (in `warnings`) to look at it again. */
export interface Fault {
  code: IntakeCode
  /** What was found, what is wanted and what to do. Numbers and names only, never input text. */
  detail: string
}

/** The public members of a JWK (RFC 7517, RFC 7518 section 6, RFC 8037, RFC 9964), no others. */
export type PublicJwk =
  | { kty: 'RSA'; n: string; e: string }
  | { kty: 'EC'; crv: 'P-256' | 'P-384' | 'P-521'; x: string; y: string }
  | { kty: 'OKP'; crv: 'Ed25519'; x: string }
  | { kty: 'AKP'; alg: 'ML-DSA-44' | 'ML-DSA-65' | 'ML-DSA-87'; pub: string }

/** What the reader recognised, known even of a key that is then refused for weakness. */
export interface KeyDescription {
  kty: PublicJwk['kty']
  /** RSA: length of the modulus in bits. */
  bits?: number
  /** EC and OKP: the JWK curve name. */
  crv?: string
  /** RFC 7638 JWK thumbprint, SHA-256, base64url without padding (43 characters). */
  thumbprint: string
  /** SHA-256 over the canonical SPKI DER, lower-case hex. */
  spkiSha256: string
  /** The values of `algorithm` that fit the key, the usual one first. */
  algorithms: Algorithm[]
}

/** A public key that passed every check, in the one form in which it is stored and returned. */
export interface PublicKey extends KeyDescription {
  /** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF (RFC 7468 section 13). */
  publicKeyPem: string
  jwk: PublicJwk
  /**
   * SHA-256, lower-case hex, over the number that makes the key: the minimal big-endian bytes of
   * n (RSA) or x (EC), the raw bytes (Ed25519, ML-DSA). Two keys that share it share a secret.
   */
  materialSha256: string
}

/**
 * A lossless repair of the text, by name; `pkcs1`, `compressed_point` and `pss_parameters` (written
 * with their defaults left out) are re-encodings.
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
  /** Every independent fault; the first is the one that decides the error. */
  faults: [Fault, ...Fault[]]
  normalised: Repair[]
  /** Present once the SPKI could be read. */
  key?: KeyDescription
  /**
   * Set where the text held a private key (`private_key_submitted`) whose public half could be
   * derived: its hashes. Nothing else of the text survives the call.
   */
  exposed?: ExposedKey
}

/** The hashes of a public key whose private half was submitted, as in `PublicKey`. */
export type ExposedKey = Pick<PublicKey, 'thumbprint' | 'materialSha256'>

export type Verdict = Accepted | Rejected
