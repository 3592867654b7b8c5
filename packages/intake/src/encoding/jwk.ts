import { hash } from 'node:crypto'
import type { PublicJwk } from '../types.ts'

/** In lexicographic order (RFC 7638 section 3.2, RFC 8037 section 2, RFC 9964 section 6). */
export const requiredMembers = {
  RSA: ['e', 'kty', 'n'],
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  AKP: ['alg', 'kty', 'pub'],
}

/** RFC 7638 thumbprint: SHA-256 of the required members, in base64url, 43 characters. */
export function thumbprintOf(jwk: PublicJwk): string {
  return hash('sha256', JSON.stringify(jwk, requiredMembers[jwk.kty]), 'base64url')
}

/** SHA-256 in lower-case hex. */
export function sha256Hex(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}
