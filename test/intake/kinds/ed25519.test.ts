import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixedBytes } from '../../../packages/intake/src/encoding/bytes.ts'
import { tag } from '../../../packages/intake/src/encoding/der.ts'
import { encode } from '../../../packages/intake/src/encoding/der-writer.ts'
import { add, decodePoint } from '../../../packages/intake/src/kinds/edwards.ts'
import { basePoint, encodePoint } from '../../../scripts/generate-trivial-keys.ts'
import { codeOf, none, pem, spki } from '../../support/keys/intake.ts'

describe('Ed25519', () => {
  const P = 2n ** 255n - 19n
  const little = (value: bigint) => Buffer.from(fixedBytes(value, 32)).reverse()
  const of = (bytes: Uint8Array) => pem(spki('1.3.101.112', none, bytes))
  const pair = generateKeyPairSync('ed25519')
  const key = pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)
  const torsion = '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'

  test.each([
    ['ok', of(key)],
    ['okp_length_invalid', of(none)],
    ['okp_length_invalid', of(key.subarray(1))],
    ['okp_length_invalid', of(Buffer.concat([Uint8Array.of(4, 32), key]))],
    ['okp_length_invalid', of(Buffer.concat([key, key]))],
    ['okp_point_not_canonical', of(little(P))],
    ['okp_point_not_canonical', of(little(P + 1n))],
    ['okp_point_not_canonical', of(little(P + 18n))],
    ['okp_point_not_canonical', of(little(2n ** 255n - 1n))],
    ['okp_point_not_canonical', of(little(2n ** 256n - 1n))],
    ['okp_point_not_canonical', of(little(1n + 2n ** 255n))],
    ['okp_point_not_canonical', of(little(P - 1n + 2n ** 255n))],
    ['okp_point_small_order', of(little(0n))],
    ['okp_point_small_order', of(little(2n ** 255n))],
    ['okp_point_small_order', of(little(1n))],
    ['okp_point_small_order', of(little(P - 1n))],
    ['okp_point_small_order', of(Buffer.from(torsion, 'hex'))],
    ['okp_point_invalid', of(little(2n))],
  ])('%s %#', (code, text) => {
    expect(codeOf(text)).toBe(code)
  })

  test('a generated key plus any of the seven torsion points is rejected', () => {
    const generated = decodePoint(key)
    const step = decodePoint(Buffer.from(torsion, 'hex'))
    if (typeof generated === 'string' || typeof step === 'string') throw new Error('no point')
    let sum = generated
    for (let multiple = 1; multiple < 8; multiple += 1) {
      sum = add(sum, step)
      expect(codeOf(of(encodePoint(sum)))).toBe('okp_point_mixed_order')
    }
    expect(Buffer.from(encodePoint(add(sum, step)))).toEqual(key)
  })

  test('trivial seeds and small multiples of the base point are rejected', () => {
    const seeds = [0, 1, 0x11, 0x80, 0xff].map((byte) => new Uint8Array(32).fill(byte))
    seeds.push(Uint8Array.from({ length: 32 }, (_, index) => index))
    seeds.push(Uint8Array.from({ length: 32 }, (_, index) => index + 1))
    seeds.push(Uint8Array.from({ length: 32 }, (_, index) => (index === 0 ? 9 : 0)))
    seeds.push(Uint8Array.from({ length: 32 }, (_, index) => (index === 31 ? 9 : 0)))
    for (const seed of seeds) {
      const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
      const text = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
      expect(codeOf(text)).toBe('okp_private_key_trivial')
    }
    let point = basePoint
    for (let multiple = 1; multiple <= 4; multiple += 1) {
      expect(codeOf(of(encodePoint(point)))).toBe('okp_private_key_trivial')
      point = add(point, basePoint)
    }
  })

  test.each([[Uint8Array.of(5, 0)], [encode(tag.sequence)], [Uint8Array.of(0)]])(
    'algorithm parameters are rejected',
    (parameters) => {
      expect(codeOf(pem(spki('1.3.101.112', parameters, key)))).toBe('spki_params_invalid')
    },
  )
})
