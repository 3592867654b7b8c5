import type { JwtKey } from '../../../client/src/index.ts'
import { base64Bytes, childrenOf, elementAt } from './der.ts'

const curves: Partial<Record<JwtKey['algorithm'], string>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
}

/** What the key is made of, such as “3072 bits” or “P-256”; '' where the algorithm says it all. */
export function materialOf({ algorithm, publicKeyPem }: JwtKey): string {
  if (!/^(RSA|RS|PS)/.test(algorithm)) return curves[algorithm] ?? ''
  const bits = modulusBits(publicKeyPem)
  return bits === undefined ? '' : `${bits} bits`
}

/** Length of the modulus of an RSA key in SPKI PEM (RFC 8017 appendix A.1.1). */
function modulusBits(pem: string): number | undefined {
  const bytes = base64Bytes(pem.replace(/-----[^-]*-----/g, ''))
  const spki = bytes && elementAt(bytes, 0)
  const bitString = bytes && spki && childrenOf(bytes, spki)?.[1]
  // The octet before the key counts unused bits: none.
  const key = bytes && bitString && elementAt(bytes, bitString.from + 1)
  const modulus = bytes && key && childrenOf(bytes, key)?.[0]
  if (bytes === undefined || modulus === undefined) return undefined
  const octets = bytes.subarray(modulus.from, modulus.to)
  const first = octets.findIndex((octet) => octet !== 0)
  return first < 0 ? 0 : (octets.length - first) * 8 - Math.clz32(octets[first] ?? 0) + 24
}
