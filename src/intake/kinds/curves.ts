import { modPow } from '../arithmetic.ts'

/** A short Weierstrass curve y^2 = x^3 + ax + b over a prime p = 3 mod 4, with cofactor 1. */
interface Curve {
  name: string
  /** Dotted object identifier. */
  oid: string
  /** OpenSSL's name. */
  platformName: string
  p: bigint
  a: bigint
  b: bigint
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
    p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
    a: -3n,
    b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
    n: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
    size: 32,
  },
  {
    name: 'P-384',
    oid: '1.3.132.0.34',
    platformName: 'secp384r1',
    p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    a: -3n,
    b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn,
    n: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
    size: 48,
  },
  {
    name: 'P-521',
    oid: '1.3.132.0.35',
    platformName: 'secp521r1',
    p: 2n ** 521n - 1n,
    a: -3n,
    b: 0x51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n,
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

/** Whether the coordinates are reduced and satisfy the equation (SP 800-56A 5.6.2.3.2). */
export function isOnCurve(curve: Curve, x: bigint, y: bigint): boolean {
  if (x < 0n || y < 0n || x >= curve.p || y >= curve.p) return false
  return (y * y - rightSide(curve, x)) % curve.p === 0n
}

/** The y with the requested parity for an x (SEC 1 section 2.3.4); undefined if x is not on the curve. */
export function decompress(curve: Curve, x: bigint, odd: boolean): bigint | undefined {
  if (x >= curve.p) return undefined
  const square = rightSide(curve, x)
  const root = modPow(square, (curve.p + 1n) / 4n, curve.p)
  if ((root * root - square) % curve.p !== 0n) return undefined
  if (root === 0n) return odd ? undefined : root
  return (root % 2n === 1n) === odd ? root : curve.p - root
}

function rightSide(curve: Curve, x: bigint): bigint {
  const value = (x * x * x + curve.a * x + curve.b) % curve.p
  return value < 0n ? value + curve.p : value
}
