import { describe, expect, test, vi } from 'vitest'
import {
  always,
  headsMatch,
  includes,
  intersect,
  isValid,
  spanUntilExpiry,
} from '../../../packages/server/src/kernel/values/validity.ts'

const clockAt = (time: number) => ({ now: () => time, monotonic: () => 0 })
const validity = { heads: [{ ledgerId: 'a', hash: '1' }], from: 10, until: 20 }

describe('a copy is valid', () => {
  test.each([
    [9, false],
    [10, true],
    [19, true],
    [20, false],
  ])(
    'from the moment it was computed at until the next expiry: at %i it is %s',
    (time, expected) => {
      const read = vi.fn(() => true)
      expect(isValid(validity, clockAt(time), read)).toBe(expected)
      // Outside its span no head is read.
      expect(read).toHaveBeenCalledTimes(expected ? 1 : 0)
    },
  )

  test('while the heads match', async () => {
    expect(isValid(validity, clockAt(10), () => false)).toBe(false)
    expect(await isValid(validity, clockAt(10), async () => false)).toBe(false)
    expect(await isValid(validity, clockAt(10), async () => true)).toBe(true)
  })

  test('only if its span still lasts once the heads are read', async () => {
    let time = 19
    const clock = { now: () => time, monotonic: () => 0 }
    const answer = isValid(validity, clock, async () => {
      time = 20
      return true
    })
    expect(await answer).toBe(false)
  })
})

test.each([
  [{ a: '1', b: '2' }, true],
  [{ a: '2' }, false],
  [{ b: '1' }, false],
])('heads match those of the same ledger alone: %o', (current, expected) => {
  const heads = new Map(
    Object.entries(current).map(([id, hash]) => [id, { revision: 1, hash, eventlessTime: 5 }]),
  )
  expect(headsMatch(validity.heads, heads)).toBe(expected)
})

test.each([
  [{}, true],
  [{ eventlessTime: 5 }, true],
  [{ eventlessTime: 4 }, false],
  [{ eventlessTime: null }, false],
])('changes without events matter to a head that has their time: %o', (own, expected) => {
  const head = { ledgerId: 'a', hash: '1', ...own }
  const current = new Map([['a', { revision: 1, hash: '1', eventlessTime: 5 }]])
  expect(headsMatch([head], current)).toBe(expected)
  const { heads = [] } = intersect({ heads: [head], ...always }, validity) ?? {}
  expect(headsMatch(heads, current)).toBe(expected)
})

describe('the intersection of validities', () => {
  test('has all heads once, and the span that they share', () => {
    const other = { heads: [...validity.heads, { ledgerId: 'b', hash: '2' }], from: 5, until: 15 }
    expect(intersect(validity, other)).toEqual({ heads: other.heads, from: 10, until: 15 })
    expect(intersect(validity, { heads: [], ...always })).toEqual(validity)
  })

  test('is undefined for two states of one ledger', () => {
    expect(intersect(validity, { heads: [{ ledgerId: 'a', hash: '2' }], ...always })).toBe(
      undefined,
    )
  })
})

describe('the span between expiries', () => {
  const keys = [10, 20, 30].map((time) => ({ expireTime: new Date(time).toISOString() }))

  test.each([
    [5, { from: 5, until: 10 }],
    [10, { from: 10, until: 20 }],
    [29, { from: 29, until: 30 }],
    [30, { from: 30, until: Number.POSITIVE_INFINITY }],
  ])('begins at %i, when it is computed', (time, span) => {
    expect(spanUntilExpiry([...keys, {}], time)).toEqual(span)
    expect(includes(span, time)).toBe(true)
  })

  test('is without end and beginning if nothing expires', () => {
    expect(spanUntilExpiry([{}], 10)).toBe(always)
  })
})
