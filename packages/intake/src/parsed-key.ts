import type { Algorithm } from './algorithms.ts'
import type { IntakeCode } from './codes.ts'
import type { Fault, PublicJwk, Repair } from './types.ts'

/** A key that could be parsed, even if it is rejected for weakness. */
export interface ParsedKey {
  /** Name for details: `RSA 2048-bit`, `EC P-256`. */
  name: string
  jwk: PublicJwk
  bits?: number
  crv?: string
  /** Canonical SPKI DER. */
  spki: Uint8Array
  /** The bytes that `materialSha256` hashes. */
  material: Uint8Array
  /** The values of `algorithm` that match, the default one first. */
  algorithms: Algorithm[]
  /** Node's `asymmetricKeyType`. */
  platformType: string
}

/** The result of reading one kind of key; `key` is missing if the key has no JWK. */
export interface Examination {
  key?: ParsedKey
  faults: Fault[]
  repairs?: Repair[]
  warnings?: Fault[]
  /** Checked only if nothing else rejects the key. */
  slowRules?: SlowRules
}

/** Rules that take up to 0.3 s. */
export interface SlowRules {
  codes: readonly IntakeCode[]
  check(): Fault[]
}
