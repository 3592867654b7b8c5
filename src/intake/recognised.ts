import type { Algorithm } from '../contract/algorithms.ts'
import type { Fault, Normalisation, PublicJwk } from './types.ts'

/** A key that could be read, whether or not it is then refused for weakness. */
export interface RecognisedKey {
  /** For people: `RSA 2048-bit`, `EC P-256`. */
  name: string
  jwk: PublicJwk
  bits?: number
  crv?: string
  /** The canonical SPKI DER. */
  spki: Uint8Array
  /** The octets over which `materialSha256` is taken. */
  material: Uint8Array
  /** The values of `algorithm` that fit, the usual one first. */
  algorithms: Algorithm[]
  /** The platform's name of the kind (`asymmetricKeyType`). */
  platformType: string
}

/** What reading one kind of key gives: its faults, and the key as far as it has a JWK. */
export interface Examination {
  key?: RecognisedKey
  faults: Fault[]
  normalised?: Normalisation[]
}
