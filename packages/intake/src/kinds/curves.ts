import { ECDH } from 'node:crypto'

/** A curve with cofactor 1. */
interface Curve {
  name: string
  /** Dotted object identifier. */
  oid: string
  /** OpenSSL's name. */
  platformName: string
  /** Order of the base point. */
  n: bigint
  /** Length of a coordinate in bytes. */
  size: number
}

/** The curves of JWS (RFC 7518 section 3.4), with the numbers of NIST SP 800-186 section 3.2.1. */
export const joseCurves = [
  {
    name: 'P-256',
    oid: '1.2.840.10045.3.1.7',
    platformName: 'prime256v1',
    n: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
    size: 32,
  },
  {
    name: 'P-384',
    oid: '1.3.132.0.34',
    platformName: 'secp384r1',
    n: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
    size: 48,
  },
  {
    name: 'P-521',
    oid: '1.3.132.0.35',
    platformName: 'secp521r1',
    n: 0x1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
    size: 66,
  },
] as const satisfies Curve[]

export type JoseCurve = (typeof joseCurves)[number]

/** secp256k1 (SEC 2 section 2.4.1): not supported, but checked for trivial keys. */
export const secp256k1 = {
  oid: '1.3.132.0.10',
  platformName: 'secp256k1',
  n: 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n,
  size: 32,
} as const

/**
 * An encoded point in uncompressed form (SEC 1 section 2.3.4); undefined if a coordinate is not below
 * the field prime or the point is not on the curve (NIST SP 800-56A 5.6.2.3.2), which OpenSSL checks.
 */
export function decodePoint(curve: Curve, point: Uint8Array): Buffer | undefined {
  try {
    const decoded = ECDH.convertKey(point, curve.platformName, undefined, undefined, 'uncompressed')
    return Buffer.isBuffer(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}
