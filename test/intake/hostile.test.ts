import { createHash } from 'node:crypto'
import process from 'node:process'
import { describe, expect, test } from 'vitest'
import { tag } from '../../packages/intake/src/encoding/der.ts'
import { encode } from '../../packages/intake/src/encoding/der-writer.ts'
import { publicHalfCommand } from '../../packages/intake/src/secrets/index.ts'
import { codeOf, fixture, none, pem, rsaNumbers, spki } from '../support/keys/intake.ts'
import { expectWithin } from '../support/timing.ts'

const LIMIT = 16_384

/** Milliseconds of processor time of the cheapest of five runs. */
function cost(text: string, read: (text: string) => unknown = codeOf): number {
  const times = Array.from({ length: 5 }, () => {
    const start = process.threadCpuUsage()
    read(text)
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1_000
  })
  return Math.min(...times)
}

function nested(depth: number): Uint8Array {
  let inner: Uint8Array = none
  for (let level = 0; level < depth; level += 1) inner = encode(tag.sequence, inner)
  return inner
}

const patterns = [
  'M',
  'MIIB',
  'MC4CAQAw',
  '30820100020100',
  '-',
  '--',
  'BEGIN ',
  '-----BEGIN ',
  '-----BEGIN PUBLIC KEY-----',
  '-----BEGIN PRIVATE',
  '[',
  '{',
  '"',
  '\\',
  '\\u0041',
  '%25',
  '&#10;',
  '<a',
  '=\n',
  'LS0tLS1',
  'eyJ',
  'AAAAAAAAAAAAAAAAAAAA=',
  'kty: d ',
  'ssh-rsa ',
  '\u2d00',
  '\uffff',
  '\x01',
  '\t',
  ' ',
  '\n',
  'A\n',
  '0x',
  '1234: ',
  '00 ',
  'Key',
]

describe('the cost of a text is bounded', () => {
  test.each(patterns)('%j repeated up to the limit', (pattern) => {
    const text = pattern.repeat(Math.floor(LIMIT / pattern.length))
    expect(codeOf(text)).not.toBe('ok')
    expectWithin(40, cost(text))
    const block = `-----BEGIN PUBLIC KEY-----${text.slice(0, LIMIT - 60)}-----END PUBLIC KEY-----`
    expectWithin(40, cost(block))
  })

  test.each(['A', 'BEGIN ', '-', '\n', ' '])('1 MiB of %j', (pattern) => {
    const text = pattern.repeat(Math.ceil(2 ** 20 / pattern.length))
    expectWithin(10, cost(text))
    expect(codeOf(text)).toBe('key_too_large')
  })

  test('one JSON document and many empty lines', () => {
    const text = `{}}${'\n'.repeat(LIMIT - 10)}x`
    expect(codeOf(text)).toBe('pem_not_found')
    expectWithin(40, cost(text))
  })

  test('a private key behind many empty lines', () => {
    const text = '\n'.repeat(LIMIT)
    const command = (lines: string) => publicHalfCommand(lines, 'private.pem')
    expect(command(`${text}-----BEGIN PRIVATE KEY-----`)).toContain('openssl pkey')
    expectWithin(10, cost(text, command))
  })

  test('nested base64 up to the limit', () => {
    let text = 'the end'
    for (let next = text; next.length <= LIMIT; next = Buffer.from(text).toString('base64'))
      text = next
    expect(codeOf(text)).toBe('pem_not_found')
    expectWithin(60, cost(text))
  })
})

describe('the cost of DER is bounded', () => {
  test.each([10, 2000, 3000])('%d nested SEQUENCEs', (depth) => {
    expect(codeOf(pem(nested(depth)))).toBe('spki_der_invalid')
    expectWithin(20, cost(pem(nested(depth))))
  })

  test('lengths up to 2^32 - 1', () => {
    for (const byte of [0x7f, 0x80, 0xff]) {
      const der = Uint8Array.of(0x30, 0x84, byte, 0xff, 0xff, 0xff, 0x30, 0x00)
      expect(codeOf(pem(der))).toBe('spki_der_invalid')
    }
  })

  test('a repeated private structure', () => {
    const bytes = Buffer.alloc(12_000)
    for (let at = 0; at < bytes.length; at += 8) {
      Buffer.from('3006020100020100', 'hex').copy(bytes, at)
    }
    expect(codeOf(pem(bytes))).toMatch(/^[a-z_]+$/)
    expectWithin(60, cost(pem(bytes)))
  })

  test.each([
    ['rsa_modulus_too_large', 65_536],
    ['rsa_modulus_too_large', 16_384],
    ['rsa_modulus_too_small', 1023],
  ])('%s: %d bits', (code, bits) => {
    const seed = createHash('shake256', { outputLength: Math.ceil(bits / 8) })
      .update('n')
      .digest()
    seed[0] = bits % 8 === 0 ? 0xff : (1 << (bits % 8)) - 1
    seed[seed.length - 1] = (seed.at(-1) ?? 0) | 1
    const key = rsaNumbers(seed, Uint8Array.of(1, 0, 1))
    const text = pem(spki('1.2.840.113549.1.1.1', Uint8Array.of(5, 0), key))
    expect(codeOf(text)).toBe(code)
    expectWithin(60, cost(text))
  })

  test('an exponent of 90,000 bits', () => {
    const n = Buffer.from(fixture('keys/good/rsa2048.pem').replace(/-----.*-----/g, ''), 'base64')
    const key = rsaNumbers(n.subarray(33, 289), new Uint8Array(11_500).fill(0x55))
    const text = pem(spki('1.2.840.113549.1.1.1', Uint8Array.of(5, 0), key))
    expect(codeOf(text)).toBe('rsa_exponent_too_large')
    expectWithin(60, cost(text))
  })
})
