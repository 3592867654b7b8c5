import { hash } from 'node:crypto'
import type { PublicJwk } from '../types.ts'

/** RFC 7638 thumbprint: SHA-256 of the required members, in base64url, 43 characters. */
export function thumbprintOf(jwk: PublicJwk): string {
  return hash('sha256', requiredMembers(jwk), 'base64url')
}

/** In lexicographic order (RFC 7638 section 3.2, RFC 8037 section 2, RFC 9964 section 6). */
function requiredMembers(jwk: PublicJwk): string {
  switch (jwk.kty) {
    case 'RSA':
      return JSON.stringify({ e: jwk.e, kty: jwk.kty, n: jwk.n })
    case 'EC':
      return JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y })
    case 'OKP':
      return JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x })
    case 'AKP':
      return JSON.stringify({ alg: jwk.alg, kty: jwk.kty, pub: jwk.pub })
  }
}

/** SHA-256 in lower-case hex. */
export function sha256Hex(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}
