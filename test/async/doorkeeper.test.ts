import { expect, test } from 'vitest'
import { createDoorkeeper } from '../../src/async/doorkeeper.ts'

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `${from + n}`)

test('lets in what comes again before as many others as it remembers', () => {
  const { seenRecently } = createDoorkeeper(100)
  expect(ids(100).some(seenRecently)).toBe(false)
  expect(ids(100).every(seenRecently)).toBe(true)
})

test('keeps out what comes once, however much of it, and forgets it', () => {
  const { seenRecently } = createDoorkeeper(100)
  expect(seenRecently('one')).toBe(false)
  expect(ids(100_000).some(seenRecently)).toBe(false)
  expect(seenRecently('one')).toBe(false)
})

test('goes on knowing what comes all the time, while others pass by', () => {
  const { seenRecently } = createDoorkeeper(100)
  seenRecently('hot')
  for (let round = 0; round < 50; round += 1) {
    expect(ids(90, 1_000 * round).some(seenRecently)).toBe(false)
    expect(seenRecently('hot')).toBe(true)
  }
})
