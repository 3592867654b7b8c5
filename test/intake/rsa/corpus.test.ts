import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { base64urlToBigInt } from '../../../packages/intake/src/encoding/bytes.ts'
import { checkRsa } from '../../../packages/intake/src/rsa/index.ts'
import { codes } from './seeded.ts'

const folder = new URL('../../fixtures/keys/', import.meta.url)

interface Case {
  file: string
  expect: 'accept' | 'reject'
  code: string
  /** A key that must be registered first; alone, this one is accepted. */
  after?: string
}

/** Codes that other checks report. */
const decidedElsewhere = ['key_type_unsupported', 'spki_params_invalid', 'rsa_pss_params_unusable']

const manifest: Case[] = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8'))
const cases = manifest.filter(
  ({ file, code }) => /^(rsa|good\/rsa\d)/.test(file) && !decidedElsewhere.includes(code),
)

/** Reads the two INTEGERs at the end of an SPKI without any checks; the files are trusted. */
function readNumbers(pem: string): [n: bigint, e: bigint] {
  const der = Buffer.from(pem.replace(/-----.*-----|\s/g, ''), 'base64')
  let position = 0
  const read = () => {
    position += 1
    const first = der[position++] ?? 0
    const count = first < 0x80 ? 0 : first & 0x7f
    const length = count === 0 ? first : der.readUIntBE(position, count)
    position += count
    return { start: position, end: position + length }
  }
  read()
  position = read().end
  position = read().start + 1
  read()
  const integer = () => {
    const { start, end } = read()
    position = end
    const hex = der.subarray(start, end).toString('hex')
    return BigInt.asIntN(8 * (end - start), BigInt(`0x${hex || '0'}`))
  }
  return [integer(), integer()]
}

describe('the key corpus', () => {
  it('contains all RSA cases', () => {
    expect(cases.length).toBeGreaterThan(45)
  })

  it.each(cases)('$file: $code', ({ file, expect: verdict, code, after }) => {
    const [n, e] = readNumbers(readFileSync(new URL(file, folder), 'utf8'))
    const [first] = codes(checkRsa(n, e))
    if (verdict === 'accept' || after !== undefined) expect(first).toBeUndefined()
    else expect(first).toBe(code)
  })
})

describe('new keys', () => {
  it.each([
    [2048, 16],
    [3072, 4],
    [4096, 1],
  ])('of %i bits have no faults', (modulusLength, count) => {
    for (let i = 0; i < count; i++) {
      const { publicKey } = generateKeyPairSync('rsa', { modulusLength })
      const { n = '', e = '' } = publicKey.export({ format: 'jwk' })
      expect(checkRsa(base64urlToBigInt(n), base64urlToBigInt(e)), n).toEqual([])
    }
  })
})
