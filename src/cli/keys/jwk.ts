import { createPublicKey, type KeyObject } from 'node:crypto'
import { joseCurves } from '../../intake/kinds/curves.ts'

export type Jwk = Record<string, unknown>

/** Whether a key with this `use` verifies tokens; `jwt-svid` is the one of SPIFFE. */
export function isSignatureUse(use: unknown): boolean {
  return use === undefined || use === 'sig' || use === 'jwt-svid'
}

/** The public key of a JWK, from its normalized members. Throws if they make no key. */
export function publicKeyOf(jwk: Jwk): KeyObject {
  const members = normalizedMembers(jwk)
  const names = Object.keys(members)
  // Node ignores characters outside the alphabet, and reads an empty number as zero.
  const areTexts = names.every((name) => /^[\w-]+$/.test(members[name] ?? ''))
  if (!areTexts || names.some((name) => typeof jwk[name] !== 'string')) {
    throw new Error('a member is missing or not a text in base64url')
  }
  return createPublicKey({ key: members, format: 'jwk' })
}

/** The members that make the key, in the one form that RFC 7518 section 6 has for each. */
export function normalizedMembers(jwk: Jwk): Record<string, string> {
  const text = (name: string) => String(jwk[name] ?? '')
  const crv = text('crv')
  switch (jwk.kty) {
    case 'RSA':
      return { kty: 'RSA', n: normalizedNumber(text('n')), e: normalizedNumber(text('e')) }
    case 'EC': {
      // A coordinate has its full length (RFC 7518 section 6.2.1.2).
      const size = joseCurves.find(({ name }) => name === crv)?.size
      const coordinate = (name: string) => normalizedNumber(text(name), size)
      return { kty: 'EC', crv, x: coordinate('x'), y: coordinate('y') }
    }
    case 'OKP':
      return { kty: 'OKP', crv, x: unpadded(text('x')) }
    default:
      return { kty: 'AKP', alg: text('alg'), pub: unpadded(text('pub')) }
  }
}

function unpadded(text: string): string {
  return text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
}

/** A number without leading zeros, or with as many as make `length` bytes; other text is kept. */
function normalizedNumber(text: string, length = 0): string {
  const plain = unpadded(text)
  if (!/^[\w-]+$/.test(plain)) return text
  const bytes = Buffer.from(plain, 'base64url')
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = bytes.subarray(first < 0 ? bytes.length : first)
  const zeros = Buffer.alloc(Math.max(0, length - digits.length))
  return Buffer.concat([zeros, digits]).toString('base64url')
}
