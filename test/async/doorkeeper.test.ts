import { expect, test } from 'vitest'
import { createDoorkeeper } from '../../src/async/doorkeeper.ts'

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `${from + n}`)

test('lets in what comes again before as many others as it remembers', () => {
  const { comesAgain } = createDoorkeeper(100)
  expect(ids(100).some(comesAgain)).toBe(false)
  expect(ids(100).every(comesAgain)).toBe(true)
})

test('keeps out what comes once, however much of it, and forgets it', () => {
  const { comesAgain } = createDoorkeeper(100)
  expect(comesAgain('one')).toBe(false)
  expect(ids(100_000).some(comesAgain)).toBe(false)
  expect(comesAgain('one')).toBe(false)
})

test('goes on knowing what comes all the time, while others pass by', () => {
  const { comesAgain } = createDoorkeeper(100)
  comesAgain('hot')
  for (let round = 0; round < 50; round += 1) {
    expect(ids(90, 1_000 * round).some(comesAgain)).toBe(false)
    expect(comesAgain('hot')).toBe(true)
  }
})
