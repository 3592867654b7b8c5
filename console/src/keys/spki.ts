import { decodeHex } from '@pubring/intake/secrets'
import { decodeBase64, encodeElement, toPem } from './der.ts'

/** The object identifiers of algorithms and curves (RFC 3279, 5480, 8410, 9881), as DER contents. */
const oids = {
  rsa: '2a864886f70d010101',
  ec: '2a8648ce3d0201',
  'P-256': '2a8648ce3d030107',
  'P-384': '2b81040022',
  'P-521': '2b81040023',
  Ed25519: '2b6570',
  'ML-DSA-44': '608648016503040311',
  'ML-DSA-65': '608648016503040312',
  'ML-DSA-87': '608648016503040313',
}

type EcCurve = 'P-256' | 'P-384' | 'P-521'
export const coordinateLengths: Record<EcCurve, number> = { 'P-256': 32, 'P-384': 48, 'P-521': 66 }

/** The names of the curves in OpenSSH keys (RFC 5656 section 10.1). */
export const sshCurves = { nistp256: 'P-256', nistp384: 'P-384', nistp521: 'P-521' } as const

export const isEcCurve = (name: unknown): name is EcCurve =>
  typeof name === 'string' && Object.hasOwn(coordinateLengths, name)

/** An RSA public key from its big-endian numbers, as SPKI in PEM (RFC 8017 appendix A.1.1). */
export function rsaPem(modulus: Uint8Array, exponent: Uint8Array): string {
  const numbers = encodeElement(0x30, encodeInteger(modulus), encodeInteger(exponent))
  return spkiPem([encodeOid('rsa'), encodeElement(0x05)], numbers)
}

/** An EC public key from its uncompressed point (RFC 5480). */
export const ecPem = (curve: EcCurve, point: Uint8Array): string =>
  spkiPem([encodeOid('ec'), encodeOid(curve)], point)

/** A public key whose algorithm has no parameters (RFC 8410, RFC 9881). */
export const rawPem = (algorithm: keyof typeof oids, key: Uint8Array): string =>
  spkiPem([encodeOid(algorithm)], key)

export const isRawAlgorithm = (name: unknown): name is keyof typeof oids =>
  typeof name === 'string' && /^(Ed25519|ML-DSA-(44|65|87))$/.test(name)

function spkiPem(algorithm: Uint8Array[], key: Uint8Array): string {
  const bits = encodeElement(0x03, Uint8Array.of(0), key)
  return toPem(encodeElement(0x30, encodeElement(0x30, ...algorithm), bits), 'PUBLIC KEY')
}

function encodeInteger(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0)
  const digits = start < 0 ? Uint8Array.of(0) : bytes.subarray(start)
  const isNegative = (digits[0] ?? 0) >= 0x80
  return encodeElement(0x02, ...(isNegative ? [Uint8Array.of(0)] : []), digits)
}

const encodeOid = (name: keyof typeof oids) => encodeElement(0x06, decodeHex(oids[name]))

/** The bytes of a member of a JWK, with leading zeros up to `length`; throws if it is not base64url. */
export function memberBytes(value: unknown, length = 0): Uint8Array {
  const isHex = typeof value === 'string' && /^(?:0x)?[0-9a-f]{64,}$/i.test(value)
  const bytes = typeof value === 'string' && !isHex ? decodeBase64(value) : undefined
  if (bytes === undefined) throw new Error('a member is missing or not base64url')
  const padding = Math.max(0, length - bytes.length)
  return Uint8Array.from([...new Uint8Array(padding), ...bytes])
}
