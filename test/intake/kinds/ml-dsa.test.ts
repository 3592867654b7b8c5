import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { tag } from '../../../packages/intake/src/encoding/der.ts'
import { encode, encodeOid } from '../../../packages/intake/src/encoding/der-writer.ts'
import { codeOf, none, pem, rejected, spki } from '../../support/keys/intake.ts'

describe('ML-DSA', () => {
  const sets = [
    ['ml-dsa-44', '2.16.840.1.101.3.4.3.17', 1312],
    ['ml-dsa-65', '2.16.840.1.101.3.4.3.18', 1952],
    ['ml-dsa-87', '2.16.840.1.101.3.4.3.19', 2592],
  ] as const
  describe.each(sets)('%s', (name, oid, length) => {
    const der = generateKeyPairSync(name).publicKey.export({ type: 'spki', format: 'der' })
    const key = der.subarray(-length)
    const of = (bytes: Uint8Array, parameters: Uint8Array = none) =>
      codeOf(pem(spki(oid, parameters, bytes)))
    const withRow = (row: number, fill: number | ((index: number) => number)) => {
      const bytes = Buffer.from(key)
      for (let index = 0; index < 320; index += 1) {
        bytes[32 + 320 * row + index] = typeof fill === 'number' ? fill : fill(index)
      }
      return bytes
    }

    test('wrong lengths and algorithm parameters are rejected', () => {
      expect(of(key)).toBe('ok')
      for (const other of [none, key.subarray(1), Buffer.concat([key, Uint8Array.of(0)])]) {
        expect(of(other)).toBe('akp_length_invalid')
      }
      expect(of(key, Uint8Array.of(5, 0))).toBe('spki_params_invalid')
      expect(of(key, encode(tag.sequence))).toBe('spki_params_invalid')
    })

    test('degenerate rows are rejected at every position', () => {
      const rows = (length - 32) / 320
      for (const row of [0, rows >> 1, rows - 1]) {
        expect(of(withRow(row, 0))).toBe('akp_degenerate')
        expect(of(withRow(row, 0xff))).toBe('akp_degenerate')
        expect(of(withRow(row, (index) => (index % 5 === 0 ? 1 : 0)))).toBe('akp_degenerate')
        expect(of(withRow(row, (index) => (index < 100 ? 0 : (index * 89 + 7) & 0xff)))).toBe(
          'akp_degenerate',
        )
      }
      expect(of(new Uint8Array(length))).toBe('akp_degenerate')
    })

    test('trivial seeds are rejected', () => {
      for (const byte of [0, 0x42, 0xff]) {
        const header = Buffer.concat([
          Uint8Array.of(2, 1, 0),
          encode(tag.sequence, encodeOid(oid)),
          encode(tag.octetString, encode(0x80, new Uint8Array(32).fill(byte))),
        ])
        const pkcs8 = Buffer.from(encode(tag.sequence, header))
        const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
        const text = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
        expect(codeOf(text)).toBe('akp_private_key_trivial')
      }
    })
  })

  test('the key of the all-zero seed has the thumbprint printed in RFC 9964', () => {
    const pkcs8 = Buffer.concat([
      Buffer.from('3034020100300b060960864801650304031104228020', 'hex'),
      new Uint8Array(32),
    ])
    const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
    const text = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
    const verdict = rejected(text)
    expect(verdict.faults[0].code).toBe('akp_private_key_trivial')
    expect(verdict.key?.thumbprint).toBe('T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o')
  })
})
