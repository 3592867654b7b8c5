import type { JwtKey } from '../../../client/src/index.ts'
import { decodeBase64, readChildren, readElement } from './der.ts'

const curves: Partial<Record<JwtKey['algorithm'], string>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
}

/** The size or curve, such as “3072 bits” or “P-256”; '' if the algorithm implies it. */
export function describeMaterial({ algorithm, publicKeyPem }: JwtKey): string {
  if (!/^(RSA|RS|PS)/.test(algorithm)) return curves[algorithm] ?? ''
  const bits = modulusBits(publicKeyPem)
  return bits === undefined ? '' : `${bits} bits`
}

/** The modulus length of an RSA key in SPKI PEM (RFC 8017 appendix A.1.1). */
function modulusBits(pem: string): number | undefined {
  const bytes = decodeBase64(pem.replace(/-----[^-]*-----/g, ''))
  const spki = bytes && readElement(bytes, 0)
  const bitString = bytes && spki && readChildren(bytes, spki)?.[1]
  // The first byte of a BIT STRING counts unused bits.
  const key = bytes && bitString && readElement(bytes, bitString.from + 1)
  const modulus = bytes && key && readChildren(bytes, key)?.[0]
  if (bytes === undefined || modulus === undefined) return undefined
  const value = bytes.subarray(modulus.from, modulus.to)
  const first = value.findIndex((byte) => byte !== 0)
  return first < 0 ? 0 : (value.length - first) * 8 - Math.clz32(value[first] ?? 0) + 24
}
