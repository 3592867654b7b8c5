import { placeholderKid } from '../../kernel/contract.ts'

/**
 * The only entry of `jwks.json` when a project that had keys in it has none left. Some verifiers take
 * an empty set for a failed fetch and keep the old keys, as Envoy does.
 *
 * No one has its private key, because its point was not made from one: x is SHA-256 of the sentence
 * `pubring: no active key 0`, and y is the even one of the two roots that put the point on P-256.
 */
const placeholder = {
  kty: 'EC',
  use: 'sig',
  kid: placeholderKid,
  crv: 'P-256',
  x: 'FdYUkgtwkuIF_qX71nAPdBglkKqd-gv7bNowDKSAtWs',
  y: 'SXd34K-joL5b0PTu_kAJ7i-MDNfz2zoHELAegzFWmNo',
  alg: 'ES256',
}

export const placeholderJwks = JSON.stringify({ keys: [placeholder] })
