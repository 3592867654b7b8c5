import { createECDH } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixedBytes, toBigInt } from '../../../packages/intake/src/encoding/bytes.ts'
import { tag } from '../../../packages/intake/src/encoding/der.ts'
import { encode, encodeOid } from '../../../packages/intake/src/encoding/der-writer.ts'
import { type JoseCurve, joseCurves } from '../../../packages/intake/src/kinds/curves.ts'
import { accepted, codeOf, fixture, none, pem, spki } from '../../support/keys/intake.ts'

const ecOid = '1.2.840.10045.2.1'
const platform = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' }
/** The field primes and base points (NIST SP 800-186 section 3.2.1). */
const parameters = {
  'P-256': {
    p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
    gx: 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
    gy: 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
  },
  'P-384': {
    p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    gx: 0xaa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7n,
    gy: 0x3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5fn,
  },
  'P-521': {
    p: 2n ** 521n - 1n,
    gx: 0xc6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66n,
    gy: 0x11839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650n,
  },
}
const onCurve = (curve: JoseCurve, ...parts: Uint8Array[]) =>
  pem(spki(ecOid, encodeOid(curve.oid), Buffer.concat(parts)))
const whole = (curve: JoseCurve, x: bigint, y: bigint) =>
  onCurve(curve, Uint8Array.of(4), fixedBytes(x, curve.size), fixedBytes(y, curve.size))

function somePoint(curve: JoseCurve) {
  const pair = createECDH(platform[curve.name])
  const point = pair.generateKeys()
  const x = point.subarray(1, 1 + curve.size)
  return { point, x, y: point.subarray(1 + curve.size), sign: (point.at(-1) ?? 0) & 1 }
}

describe.each(joseCurves)('$name', (curve) => {
  const { x, y, sign } = somePoint(curve)
  const { p, gx, gy } = parameters[curve.name]
  const [xn, yn] = [toBigInt(x), toBigInt(y)]
  const of = (format: number, ...parts: Uint8Array[]) =>
    onCurve(curve, Uint8Array.of(format), ...parts)

  test('the base point is on the curve and has order n', () => {
    expect(codeOf(whole(curve, gx, gy))).toBe('ec_private_key_trivial')
    expect(codeOf(whole(curve, gx, gy + 1n))).toBe('ec_point_invalid')
    const pair = createECDH(platform[curve.name])
    pair.setPrivateKey(Buffer.from(fixedBytes(curve.n - 1n, curve.size)))
    expect(toBigInt(pair.getPublicKey().subarray(1, 1 + curve.size))).toBe(gx)
  })

  test.each([
    ['ok', of(4, x, y)],
    ['ok', of(2 + sign, x)],
    ['ok', of(3 - sign, x)],
    ['ec_point_format_unsupported', of(6 + sign, x, y)],
    ['ec_point_format_unsupported', of(7 - sign, x, y)],
    ['ec_point_format_unsupported', of(5, x, y)],
    ['ec_point_format_unsupported', of(0xff, x, y)],
    ['ec_point_invalid', onCurve(curve)],
    ['ec_point_invalid', of(0)],
    ['ec_point_invalid', of(0, x, y)],
    ['ec_point_invalid', of(4)],
    ['ec_point_invalid', of(4, x)],
    ['ec_point_invalid', of(2)],
    ['ec_point_invalid', of(2, x, y)],
    ['ec_point_invalid', of(4, x, y, Uint8Array.of(0))],
    ['ec_point_invalid', of(4, Uint8Array.of(0), x, y)],
    ['ec_point_invalid', of(4, y, x)],
    ['ec_point_invalid', whole(curve, xn, yn ^ 1n)],
    ['ec_point_invalid', whole(curve, xn ^ 1n, yn)],
    ['ec_point_invalid', whole(curve, 0n, 0n)],
    ['ec_point_invalid', whole(curve, p, yn)],
    ['ec_point_invalid', whole(curve, xn, p)],
    ['ec_point_invalid', of(2, new Uint8Array(curve.size).fill(0xff))],
    ['ec_point_invalid', of(2, fixedBytes(p, curve.size))],
    ['ec_private_key_trivial', whole(curve, gx, gy)],
    ['ec_private_key_trivial', whole(curve, gx, p - gy)],
    ['ec_private_key_trivial', of(2, fixedBytes(gx, curve.size))],
  ])('%s %#', (code, text) => {
    expect(codeOf(text)).toBe(code)
  })

  test('about half of all compressed x have no point', () => {
    const codes = Array.from({ length: 40 }, (_, index) =>
      codeOf(of(2, fixedBytes(BigInt(index) + 5n, curve.size))),
    )
    expect(new Set(codes)).toEqual(new Set(['ok', 'ec_point_invalid']))
  })

  test('unreduced coordinates are rejected: x + p would encode the same point again', () => {
    const small = Array.from({ length: 50 }, (_, index) => BigInt(index)).find(
      (candidate) => codeOf(of(2, fixedBytes(candidate, curve.size))) === 'ok',
    )
    if (small === undefined) throw new Error('no small x')
    if (small + p < 256n ** BigInt(curve.size)) {
      expect(codeOf(of(2, fixedBytes(small + p, curve.size)))).toBe('ec_point_invalid')
    }
  })

  test('trivial scalars and their negatives are rejected', () => {
    const pair = createECDH(platform[curve.name])
    const scalars = [1n, 2n, 3n, 500n, 1024n, curve.n - 1n, curve.n - 1024n]
    const repeated = [0x01, 0x11, 0xaa].map((byte) => toBigInt(new Uint8Array(32).fill(byte)))
    for (const scalar of [...scalars, ...repeated]) {
      pair.setPrivateKey(Buffer.from(fixedBytes(scalar, curve.size)))
      expect(codeOf(onCurve(curve, pair.getPublicKey()))).toBe('ec_private_key_trivial')
    }
    for (const scalar of [1025n, 4096n]) {
      pair.setPrivateKey(Buffer.from(fixedBytes(scalar, curve.size)))
      expect(codeOf(onCurve(curve, pair.getPublicKey()))).toBe('ok')
    }
  })

  test.each([
    ['spki_params_invalid', none],
    ['ec_explicit_parameters', Uint8Array.of(5, 0)],
    ['ec_explicit_parameters', encode(tag.sequence)],
    ['spki_params_invalid', Uint8Array.of(2, 1, 1)],
    ['spki_params_invalid', Buffer.concat([encodeOid(curve.oid), Uint8Array.of(5, 0)])],
    ['ec_curve_unsupported', encodeOid('1.3.132.0.33')],
    ['ec_curve_unsupported', encodeOid('1.3.132.0.10')],
    ['ec_curve_unsupported', encodeOid('1.3.36.3.3.2.8.1.1.7')],
    ['ec_curve_unsupported', encodeOid('1.2.3.4')],
    ['spki_der_invalid', Uint8Array.of(6, 0)],
  ])('parameters: %s %#', (code, parameters) => {
    const point = Buffer.concat([Uint8Array.of(4), x, y])
    expect(codeOf(pem(spki(ecOid, parameters, point)))).toBe(code)
  })
})

test('a short P-256 coordinate is padded to its full length', () => {
  const { key } = accepted(fixture('keys/good/ec-p256-x-leading-zero.pem'))
  expect(key.jwk).toMatchObject({ x: expect.stringMatching(/^[\w-]{43}$/) })
})
