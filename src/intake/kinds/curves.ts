import { modPow } from '../arithmetic.ts'

/** A short Weierstrass curve y^2 = x^3 + ax + b over a prime p = 3 mod 4, with cofactor 1. */
export interface Curve {
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
  gx: bigint
  gy: bigint
  /** Length of a coordinate in bytes. */
  size: number
}

/** P-256 (NIST SP 800-186 section 3.2.1.3). */
export const p256 = {
  name: 'P-256',
  oid: '1.2.840.10045.3.1.7',
  platformName: 'prime256v1',
  p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
  a: -3n,
  b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
  n: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  gx: 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
  gy: 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
  size: 32,
} as const satisfies Curve

/** P-384 (NIST SP 800-186 section 3.2.1.4). */
export const p384 = {
  name: 'P-384',
  oid: '1.3.132.0.34',
  platformName: 'secp384r1',
  p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
  a: -3n,
  b: 0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aefn,
  n: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  gx: 0xaa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7n,
  gy: 0x3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5fn,
  size: 48,
} as const satisfies Curve

/** P-521 (NIST SP 800-186 section 3.2.1.5). */
export const p521 = {
  name: 'P-521',
  oid: '1.3.132.0.35',
  platformName: 'secp521r1',
  p: 2n ** 521n - 1n,
  a: -3n,
  b: 0x51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n,
  n: 0x1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
  gx: 0xc6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66n,
  gy: 0x11839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650n,
  size: 66,
} as const satisfies Curve

/** secp256k1 (SEC 2 section 2.4.1): not supported; known for the check of trivial keys. */
export const secp256k1 = {
  name: 'secp256k1',
  oid: '1.3.132.0.10',
  platformName: 'secp256k1',
  p: 2n ** 256n - 2n ** 32n - 977n,
  a: 0n,
  b: 7n,
  n: 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n,
  gx: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  gy: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
  size: 32,
} as const satisfies Curve

/** The curves of JWS (RFC 7518 section 3.4). */
export const joseCurves = [p256, p384, p521] as const

export type JoseCurve = (typeof joseCurves)[number]

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
