import type { JwtKey } from '@pubring/client'
import { keyOfPem, rsaNumbers } from './der.ts'

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

function modulusBits(pem: string): number | undefined {
  const key = keyOfPem(pem)
  const [modulus] = (key && rsaNumbers(key)) ?? []
  return modulus && modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24
}
