import { expect, test } from 'vitest'
import { createDoorkeeper } from '../../packages/server/src/async/doorkeeper.ts'

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `${from + n}`)

test('an id is seen recently if fewer others than the capacity came in between', () => {
  const { seenRecently } = createDoorkeeper(100)
  expect(ids(100).some(seenRecently)).toBe(false)
  expect(ids(100).every(seenRecently)).toBe(true)
})

test('ids that come once are never seen recently, and are forgotten', () => {
  const { seenRecently } = createDoorkeeper(100)
  expect(seenRecently('one')).toBe(false)
  expect(ids(100_000).some(seenRecently)).toBe(false)
  expect(seenRecently('one')).toBe(false)
})

test('an id that keeps coming is seen recently, however many others come', () => {
  const { seenRecently } = createDoorkeeper(100)
  seenRecently('hot')
  for (let round = 0; round < 50; round += 1) {
    expect(ids(90, 1_000 * round).some(seenRecently)).toBe(false)
    expect(seenRecently('hot')).toBe(true)
  }
})
