import type { Algorithm } from '../contract/algorithms.ts'
import type { Fault, PublicJwk, Repair } from './types.ts'

/** A key that could be read, whether or not it is then refused for weakness. */
export interface ParsedKey {
  /** For people: `RSA 2048-bit`, `EC P-256`. */
  name: string
  jwk: PublicJwk
  bits?: number
  crv?: string
  /** The canonical SPKI DER. */
  spki: Uint8Array
  /** The bytes over which `materialSha256` is taken. */
  material: Uint8Array
  /** The values of `algorithm` that fit, the usual one first. */
  algorithms: Algorithm[]
  /** The platform's name of the kind (`asymmetricKeyType`). */
  platformType: string
}

/** What reading one kind of key gives: its faults, and the key as far as it has a JWK. */
export interface Examination {
  key?: ParsedKey
  faults: Fault[]
  normalised?: Repair[]
}
