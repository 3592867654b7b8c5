import { describe, expect, test } from 'vitest'
import { tag } from '../../../packages/intake/src/encoding/der.ts'
import {
  encode,
  encodeBitString,
  encodeOid,
} from '../../../packages/intake/src/encoding/der-writer.ts'
import {
  codeOf,
  derOf,
  fixture,
  none,
  pem,
  rejected,
  rsaNumbers,
  spki,
} from '../../support/keys/intake.ts'

const rsa = derOf(fixture('keys/good/rsa2048.pem'))
const ec = derOf(fixture('keys/good/ec-p256.pem'))
const ed = derOf(fixture('keys/good/ed25519.pem'))
const NULL = Uint8Array.of(5, 0)
const rsaOid = '1.2.840.113549.1.1.1'
const modulus = rsa.subarray(33, 33 + 256)
const exponent = Uint8Array.of(1, 0, 1)
const rsaKey = rsaNumbers(modulus, exponent)

/** An element with a length in an arbitrary encoding. */
const withLength = (head: number, length: number[], content: Uint8Array) =>
  Buffer.concat([Uint8Array.of(head, ...length), content])
const sequence = (...contents: Uint8Array[]) => encode(tag.sequence, ...contents)
const edAlgorithm = sequence(encodeOid('1.3.101.112'))
const edKey = ed.subarray(12)

test('the helpers build the same DER as Node', () => {
  expect(Buffer.from(spki(rsaOid, NULL, rsaKey))).toEqual(rsa)
  expect(Buffer.from(sequence(edAlgorithm, encodeBitString(edKey)))).toEqual(ed)
})

describe('BER and damage (X.690)', () => {
  const inner = ed.subarray(2)
  test.each([
    ['spki_not_der', withLength(0x30, [0x81, inner.length], inner)],
    ['spki_not_der', withLength(0x30, [0x82, 0, inner.length], inner)],
    ['spki_not_der', withLength(0x30, [0x84, 0, 0, 0, inner.length], inner)],
    ['spki_der_invalid', withLength(0x30, [0x85, 0, 0, 0, 0, inner.length], inner)],
    ['spki_der_invalid', withLength(0x30, [0x88, 0, 0, 0, 0, 0, 0, 0, inner.length], inner)],
    ['spki_der_invalid', withLength(0x30, [0xff], inner)],
    ['spki_der_invalid', withLength(0x30, [0x84, 0xff, 0xff, 0xff, 0xff], inner)],
    ['spki_der_invalid', withLength(0x30, [0x84, 0x7f, 0xff, 0xff, 0xff], inner)],
    ['spki_not_der', withLength(0x30, [0x80], Buffer.concat([inner, Uint8Array.of(0, 0)]))],
    ['spki_der_invalid', withLength(0x30, [inner.length + 1], inner)],
    [
      'spki_trailing_data',
      withLength(0x30, [inner.length], Buffer.concat([inner, none, Uint8Array.of(0)])),
    ],
    ['spki_der_invalid', withLength(0x10, [inner.length], inner)],
    ['spki_der_invalid', withLength(0x31, [inner.length], inner)],
    ['spki_der_invalid', withLength(0x3f, [0x30, inner.length], inner)],
    ['spki_der_invalid', Uint8Array.of(0x30)],
    ['spki_der_invalid', Uint8Array.of(0x30, 0)],
    ['spki_der_invalid', Uint8Array.of(0x30, 0x82)],
    ['spki_der_invalid', sequence(sequence(), encodeBitString(edKey))],
    ['spki_der_invalid', sequence(edAlgorithm)],
    ['spki_der_invalid', sequence(edAlgorithm, encode(tag.octetString, edKey))],
    ['spki_der_invalid', sequence(edAlgorithm, encode(tag.bitString))],
    ['spki_der_invalid', sequence(edAlgorithm, encode(tag.bitString, Uint8Array.of(1), edKey))],
    ['spki_der_invalid', sequence(edAlgorithm, encode(tag.bitString, Uint8Array.of(8), edKey))],
    ['spki_not_der', sequence(edAlgorithm, encode(0x23, encodeBitString(edKey)))],
    ['spki_trailing_data', sequence(edAlgorithm, encodeBitString(edKey), NULL)],
    ['spki_trailing_data', Buffer.concat([ed, ed])],
    ['spki_trailing_data', Buffer.concat([rsa, Uint8Array.of(0)])],
    ['spki_der_invalid', sequence(sequence(encode(tag.oid)), encodeBitString(edKey))],
    [
      'spki_der_invalid',
      sequence(sequence(encode(tag.oid, Uint8Array.of(0x2b, 0x80))), encodeBitString(edKey)),
    ],
    [
      'spki_der_invalid',
      sequence(sequence(encode(tag.oid, Uint8Array.of(0x2b, 0x65, 0xf0))), encodeBitString(edKey)),
    ],
    [
      'spki_not_der',
      sequence(
        sequence(encode(tag.oid, Uint8Array.of(0x2b, 0x80, 0x65, 0x70))),
        encodeBitString(edKey),
      ),
    ],
    [
      'spki_der_invalid',
      sequence(sequence(encode(tag.oid, new Uint8Array(600).fill(1))), encodeBitString(edKey)),
    ],
    [
      'key_type_unsupported',
      sequence(
        sequence(encode(tag.oid, Uint8Array.of(0x2b, ...new Uint8Array(600).fill(0xff), 1))),
        encodeBitString(edKey),
      ),
    ],
    ['key_type_unsupported', spki('1.3.6.1.4.1.99999.1', none, edKey)],
    ['key_type_unsupported', spki('0.0', none, edKey)],
  ])('%s %#', (code, der) => {
    expect(codeOf(pem(der))).toBe(code)
  })
})

describe('RSA keys', () => {
  const integer = (...bytes: number[]) => encode(tag.integer, Uint8Array.from(bytes))
  const n = encode(tag.integer, Uint8Array.of(0), modulus)
  const e = integer(1, 0, 1)
  const key = (...contents: Uint8Array[]) => spki(rsaOid, NULL, sequence(...contents))
  test.each([
    ['ok', key(n, e)],
    ['spki_not_der', key(encode(tag.integer, Uint8Array.of(0, 0), modulus), e)],
    ['rsa_modulus_not_positive', key(encode(tag.integer, modulus), e)],
    ['rsa_modulus_not_positive', key(integer(0), e)],
    ['rsa_modulus_not_positive', key(integer(0xff), e)],
    ['spki_not_der', key(integer(0xff, 0xff), e)],
    ['spki_not_der', key(n, integer(0, 1, 0, 1))],
    ['spki_der_invalid', key(integer(), e)],
    ['spki_der_invalid', key(n, integer())],
    ['spki_der_invalid', key(n)],
    ['spki_der_invalid', key()],
    ['spki_trailing_data', key(n, e, e)],
    ['spki_trailing_data', spki(rsaOid, NULL, Buffer.concat([rsaKey, rsaKey]))],
    ['spki_der_invalid', spki(rsaOid, NULL, none)],
    ['spki_der_invalid', spki(rsaOid, NULL, rsaKey.subarray(0, 100))],
    ['spki_not_der', spki(rsaOid, NULL, withLength(0x30, [0x80], rsaKey.subarray(4)))],
    ['spki_der_invalid', key(encode(0x01, modulus), e)],
    ['spki_not_der', key(encode(0x22, n), e)],
    ['spki_params_invalid', spki(rsaOid, none, rsaKey)],
    ['spki_params_invalid', spki(rsaOid, sequence(), rsaKey)],
    ['spki_params_invalid', spki(rsaOid, Buffer.concat([NULL, NULL]), rsaKey)],
    ['spki_params_invalid', spki(rsaOid, Uint8Array.of(1, 1, 0xff), rsaKey)],
    ['spki_der_invalid', spki(rsaOid, Uint8Array.of(5, 1, 0), rsaKey)],
    ['spki_not_der', spki(rsaOid, Uint8Array.of(5, 0x81, 0), rsaKey)],
    ['spki_der_invalid', spki(rsaOid, Uint8Array.of(5), rsaKey)],
    ['rsa_exponent_invalid', key(n, integer(1))],
    ['rsa_exponent_invalid', key(n, integer(2))],
    ['rsa_exponent_invalid', key(n, integer(0))],
    ['rsa_exponent_invalid', key(n, integer(0xff))],
    ['rsa_exponent_invalid', key(n, integer(1, 0, 0))],
    ['rsa_exponent_too_small', key(n, integer(0x25))],
    ['ok', key(n, integer(0x7f, 0xff, 0xff, 0xff))],
    ['rsa_exponent_too_large', key(n, integer(0, 0x80, 0, 0, 1))],
    ['rsa_exponent_too_large', key(n, n)],
    ['key_type_unsupported', spki('1.2.840.113549.1.1.11', NULL, rsaKey)],
    ['key_type_unsupported', spki('1.2.840.113549.1.1.7', NULL, rsaKey)],
    ['key_type_unsupported', spki('2.5.8.1.1', NULL, rsaKey)],
  ])('%s %#', (code, der) => {
    expect(codeOf(pem(der))).toBe(code)
  })

  test.each([
    ['ok', rsaKey],
    ['spki_trailing_data', Buffer.concat([rsaKey, Uint8Array.of(0)])],
    ['pem_label_content_mismatch', rsa],
    ['pem_label_content_mismatch', ec],
    ['pem_label_content_mismatch', ed],
    ['spki_der_invalid', none],
    ['spki_der_invalid', sequence()],
    ['rsa_modulus_not_positive', sequence(integer(0), e)],
    ['rsa_modulus_too_small', sequence(integer(1), e)],
    ['rsa_modulus_too_small', sequence(integer(15), e)],
  ])('as PKCS#1: %s %#', (code, der) => {
    expect(codeOf(pem(der, 'RSA PUBLIC KEY'))).toBe(code)
  })

  test('all independent faults are reported', () => {
    const codes = rejected(pem(key(integer(15), integer(1)))).faults.map(({ code }) => code)
    expect(codes).toEqual(expect.arrayContaining(['rsa_modulus_too_small', 'rsa_exponent_invalid']))
  })
})

describe('the algorithm must match the key, and the detail names both', () => {
  test.each([
    ['ec_p256.pem', 'RSA', 'EC P-256', 'ES256'],
    ['ec_p256.pem', 'ES384', 'EC P-256', 'ES256'],
    ['ec_p521.pem', 'ES256', 'EC P-521', 'ES512'],
    ['rsa2048.pem', 'ES256', 'RSA 2048-bit', 'RS256'],
    ['rsa2048.pem', 'EdDSA', 'RSA 2048-bit', 'PS512'],
    ['ed25519.pem', 'RSA', 'Ed25519', 'EdDSA'],
    ['ed25519.pem', 'ML-DSA-44', 'Ed25519', 'EdDSA'],
  ] as const)('%s as %s', (file, algorithm, found, fitting) => {
    const [first] = rejected(fixture(`material/${file}`), algorithm).faults
    expect(first.code).toBe('algorithm_mismatch')
    for (const word of [algorithm, found, fitting]) expect(first.detail).toContain(word)
  })

  test('an RSA-PSS key does not match RS256', () => {
    const text = fixture('keys/good/rsa-pss-sha256.pem')
    expect(codeOf(text, 'RSA')).toBe('algorithm_mismatch')
    expect(codeOf(text, 'RS256')).toBe('algorithm_mismatch')
    expect(codeOf(text, 'PS384')).toBe('algorithm_mismatch')
    expect(codeOf(text, 'PS256')).toBe('ok')
  })

  test('a weakness is reported before a wrong algorithm', () => {
    const text = fixture('keys/ec/p256-private-key-1.pem')
    const codes = rejected(text, 'RSA').faults.map(({ code }) => code)
    expect(codes).toEqual(['ec_private_key_trivial', 'algorithm_mismatch'])
  })
})
