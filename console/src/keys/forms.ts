import type { JwtKeyWithDetails } from '@pubring/client'
import { base64OfPem, encodeBase64, keyOfPem, rsaNumbers } from './der.ts'

export type KeyForm = { name: string; text: string; fileName: string }

/** All forms of a key, DER in base64. */
export function formsOf(key: JwtKeyWithDetails): KeyForm[] {
  const { id, publicKeyPem, details } = key
  const kid = details.publishedKid ?? id
  const jwk = { kty: details.kty, use: 'sig', kid, ...jwkMembers(key), alg: details.jwsAlgorithm }
  return [
    { name: 'PEM', text: publicKeyPem, fileName: `${id}.pem` },
    { name: 'JWK', text: `${JSON.stringify(jwk, null, 2)}\n`, fileName: `${id}.jwk.json` },
    { name: 'DER', text: `${base64OfPem(publicKeyPem)}\n`, fileName: `${id}.der.txt` },
  ]
}

/** The members of the JWK that hold the key (RFC 7518 section 6, RFC 8037, RFC 9964). */
function jwkMembers({ publicKeyPem, details: { kty, crv } }: JwtKeyWithDetails) {
  const key = keyOfPem(publicKeyPem)
  const numbers = key && kty === 'RSA' ? rsaNumbers(key) : []
  if (key === undefined || numbers === undefined) throw new Error('The key is damaged.')
  const [modulus, exponent] = numbers
  if (modulus && exponent) return { n: base64url(modulus), e: base64url(exponent) }
  if (kty === 'EC' && crv !== undefined) {
    // An uncompressed point: 4, then the coordinates.
    const middle = 1 + (key.length - 1) / 2
    return { crv, x: base64url(key.subarray(1, middle)), y: base64url(key.subarray(middle)) }
  }
  if (kty === 'OKP' && crv !== undefined) return { crv, x: base64url(key) }
  return { pub: base64url(key) }
}

const base64url = (bytes: Uint8Array) =>
  encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
