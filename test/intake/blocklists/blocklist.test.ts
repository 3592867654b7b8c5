import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createBlocklist } from '../../../packages/intake/src/blocklists/blocklist.ts'
import { publishedDocuments, publishedRecords } from '../../../scripts/generate-blocklist.ts'
import { expectWithin } from '../../support/timing.ts'

const sha256 = (material: Uint8Array | string) =>
  createHash('sha256').update(material).digest('hex')
const fromBase64url = (text: string) => Buffer.from(text, 'base64url')

const list = new URL('../../../packages/intake/src/blocklists/published-keys.bin', import.meta.url)
const publishedKeys = readFileSync(list)
const publishedHashes = (publishedKeys.toString('hex').match(/.{32}/g) ?? []).map((record) =>
  record.slice(0, 30),
)

/** Records of 15 bytes of hash and a list number, sorted. */
function recordsOf(hashes: string[], list = 7): Uint8Array {
  const suffix = list.toString(16).padStart(2, '0')
  return Buffer.from(
    hashes
      .map((hash) => hash.slice(0, 30) + suffix)
      .toSorted()
      .join(''),
    'hex',
  )
}

const hashes = Array.from({ length: 1000 }, (_, i) => sha256(`key ${i}`))

describe('built-in block list', () => {
  const blocklist = createBlocklist()

  it.each([
    ['the Ed25519 key of RFC 8037', '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'],
    ['the P-256 key of RFC 7515 A.3', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'],
    ['the ES256 key of jwt.io', 'EVs_o5-uQbTjL3chynL4wXgUg2R9q9UU8I5mEovUf84'],
  ])('contains %s', (_, x) => {
    expect(blocklist.has(sha256(fromBase64url(x)))).toBe(true)
    expect(blocklist.has(sha256(fromBase64url(x)).toUpperCase())).toBe(true)
  })

  it('compares only the first 15 bytes', () => {
    for (const hash of publishedHashes) {
      expect(hash).toMatch(/^[0-9a-f]{30}$/)
      expect(blocklist.has(hash.padEnd(64, '0'))).toBe(true)
      expect(blocklist.has(hash.padEnd(64, 'f'))).toBe(true)
    }
  })

  it('does not contain other keys', () => {
    for (const hash of hashes) expect(blocklist.has(hash)).toBe(false)
  })

  it('is up to date (node scripts/generate-blocklist.ts)', () => {
    expect(publishedKeys).toEqual(publishedRecords())
    expect(readFileSync(new URL('published-documents.txt', list), 'utf8')).toBe(
      publishedDocuments(),
    )
    expect(publishedHashes.length).toBeGreaterThan(35)
  })

  it('throws for anything but a SHA-256', () => {
    for (const text of ['', 'ab', 'g'.repeat(64), 'a'.repeat(65)]) {
      expect(() => blocklist.has(text)).toThrow(RangeError)
    }
  })
})

describe("the operator's block list", () => {
  it('contains every record, including the first and the last', () => {
    const listed = hashes.slice(0, 501)
    const blocklist = createBlocklist(recordsOf(listed))
    for (const hash of listed) expect(blocklist.has(hash)).toBe(true)
    for (const hash of hashes.slice(501)) expect(blocklist.has(hash)).toBe(false)
    const [one = ''] = hashes
    expect(createBlocklist(recordsOf([one])).has(one)).toBe(true)
    expect(createBlocklist(new Uint8Array()).has(one)).toBe(false)
  })

  it('extends the built-in list', () => {
    const built = (publishedHashes[0] ?? '').padEnd(64, '0')
    expect(createBlocklist(recordsOf(hashes)).has(built)).toBe(true)
  })

  it('distinguishes records that differ in the 15th byte', () => {
    const stem = 'ab'.repeat(14)
    const blocklist = createBlocklist(recordsOf([`${stem}10`, `${stem}12`]))
    expect(
      ['0f', '10', '11', '12', '13'].map((end) => blocklist.has((stem + end).padEnd(64, '0'))),
    ).toEqual([false, true, false, true, false])
  })

  it('may contain a key twice, in two lists', () => {
    const [one = ''] = hashes
    const twice = Buffer.concat([recordsOf([one], 1), recordsOf([one], 2)])
    expect(createBlocklist(twice).has(one)).toBe(true)
  })

  it('may be in shared memory', () => {
    const records = recordsOf(hashes)
    const shared = new Uint8Array(new SharedArrayBuffer(records.length))
    shared.set(records)
    expect(createBlocklist(shared).has(hashes[999] ?? '')).toBe(true)
  })

  it('is rejected if its length is not a multiple of 16', () => {
    expect(() => createBlocklist(new Uint8Array(17))).toThrow('17 bytes')
    expect(() => createBlocklist(recordsOf(hashes).subarray(1))).toThrow('not a multiple of 16')
  })

  it('is rejected if it is not sorted', () => {
    const sorted = recordsOf(hashes)
    const swapped = Buffer.concat([
      sorted.subarray(0, 32),
      sorted.subarray(48, 64),
      sorted.subarray(32, 48),
      sorted.subarray(64),
    ])
    expect(() => createBlocklist(swapped)).toThrow('not sorted: record 3')
    const [one = ''] = hashes
    const wrongLists = Buffer.concat([recordsOf([one], 2), recordsOf([one], 1)])
    expect(() => createBlocklist(wrongLists)).toThrow('not sorted')
  })

  it('of 60 MB is checked in less than a second and searched in microseconds', () => {
    const records = new Uint8Array(16 * 3_700_000)
    const view = new DataView(records.buffer)
    for (let i = 0; i < 3_700_000; i++) view.setUint32(16 * i, i * 1000)
    let start = performance.now()
    const blocklist = createBlocklist(records)
    expectWithin(1000, performance.now() - start)
    start = performance.now()
    for (const hash of hashes) blocklist.has(hash)
    expectWithin(200, performance.now() - start)
    expect(blocklist.has(`000003e8${'00'.repeat(28)}`)).toBe(true)
    expect(blocklist.has(`000003e9${'00'.repeat(28)}`)).toBe(false)
  })
})
