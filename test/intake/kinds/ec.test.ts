import { createECDH } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixedBytes, toBigInt } from '../../../src/intake/encoding/bytes.ts'
import { tag } from '../../../src/intake/encoding/der.ts'
import { encode, encodeOid } from '../../../src/intake/encoding/der-writer.ts'
import { isOnCurve, type JoseCurve, joseCurves } from '../../../src/intake/kinds/curves.ts'
import { accepted, codeOf, fixture, none, pem, spki } from '../../support/keys/intake.ts'

const ecOid = '1.2.840.10045.2.1'
const platform = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' }
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
  const [xn, yn] = [toBigInt(x), toBigInt(y)]
  const of = (format: number, ...parts: Uint8Array[]) =>
    onCurve(curve, Uint8Array.of(format), ...parts)

  test('the base point is on the curve and has order n', () => {
    expect(isOnCurve(curve, curve.gx, curve.gy)).toBe(true)
    const pair = createECDH(platform[curve.name])
    pair.setPrivateKey(Buffer.from(fixedBytes(curve.n - 1n, curve.size)))
    expect(toBigInt(pair.getPublicKey().subarray(1, 1 + curve.size))).toBe(curve.gx)
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
    ['ec_point_invalid', whole(curve, curve.p, yn)],
    ['ec_point_invalid', whole(curve, xn, curve.p)],
    ['ec_point_invalid', of(2, new Uint8Array(curve.size).fill(0xff))],
    ['ec_point_invalid', of(2, fixedBytes(curve.p, curve.size))],
    ['ec_private_key_trivial', whole(curve, curve.gx, curve.gy)],
    ['ec_private_key_trivial', whole(curve, curve.gx, curve.p - curve.gy)],
    ['ec_private_key_trivial', of(2, fixedBytes(curve.gx, curve.size))],
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
    if (small + curve.p < 256n ** BigInt(curve.size)) {
      expect(codeOf(of(2, fixedBytes(small + curve.p, curve.size)))).toBe('ec_point_invalid')
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
