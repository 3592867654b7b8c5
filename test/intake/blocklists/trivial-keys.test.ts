import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isTrivialKey } from '../../../packages/intake/src/blocklists/trivial-keys.ts'
import { sha256Hex } from '../../../packages/intake/src/encoding/jwk.ts'
import {
  recordOf,
  trivialEcMaterials,
  trivialEd25519Materials,
  trivialMlDsaMaterials,
} from '../../../scripts/generate-trivial-keys.ts'

const table = readFileSync(
  new URL('../../../packages/intake/src/blocklists/trivial-keys.bin', import.meta.url),
)
const records = table.toString('hex').match(/.{16}/g) ?? []

test('the records are complete, sorted and unique', () => {
  expect(table.length % 8).toBe(0)
  expect(records).toEqual([...new Set(records)].sort())
  expect(records.length).toBeGreaterThan(10_000)
})

test.each([
  ['EC', trivialEcMaterials(), 700],
  ['Ed25519', trivialEd25519Materials(), 300],
  ['ML-DSA', trivialMlDsaMaterials(), 20],
] as const)('the table contains a newly generated sample of %s', (_name, materials, count) => {
  const known = new Set(records)
  for (const material of materials.take(count)) {
    expect(known.has(recordOf(material))).toBe(true)
    expect(isTrivialKey(sha256Hex(material))).toBe(true)
  }
})

test('other keys are not found', () => {
  for (let index = 0; index < 10_000; index += 1) {
    expect(isTrivialKey(sha256Hex(Buffer.from(`key ${index}`)))).toBe(false)
  }
  for (const edge of ['0', 'f']) expect(isTrivialKey(edge.repeat(64))).toBe(false)
})
