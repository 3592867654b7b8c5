import { createPublicKey, type KeyObject } from 'node:crypto'

export type Jwk = Record<string, unknown>

/** The text of a member whose type is not known; empty unless it is a string or a number. */
export function textOf(member: unknown): string {
  return typeof member === 'string' || typeof member === 'number' ? String(member) : ''
}

/** Whether a key with this `use` verifies tokens; `jwt-svid` is the one of SPIFFE. */
export function isSignatureUse(use: unknown): boolean {
  return use === undefined || use === 'sig' || use === 'jwt-svid'
}

/** The public key of a JWK. Throws if its members make no key. */
export function publicKeyOf(jwk: Jwk): KeyObject {
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  // Node ignores characters outside the alphabet, and reads an empty number as zero.
  const isValid = Object.entries(normalizedMembers(key)).every(([name, value]) => {
    const member = jwk[name]
    return typeof member === 'string' && /^[\w+/-]+=*$/.test(member) && value !== ''
  })
  if (!isValid) throw new Error('a member is missing or not a text in base64url')
  return key
}

/** The members that make the key, in the one form that RFC 7518 section 6 has for each. */
export function normalizedMembers(key: KeyObject): object {
  return key.export({ format: 'jwk' })
}
