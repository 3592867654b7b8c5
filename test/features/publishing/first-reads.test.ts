import { LRUCache } from 'lru-cache'
import { expect, test } from 'vitest'
import { createRevalidatedCache } from '../../../packages/server/src/features/publishing/revalidated-cache.ts'
import { testClock } from '../../support/app/clock.ts'

test('a hundred unknown values are read at once, known ones without waiting, and too many are refused', async () => {
  const clock = testClock()
  const reading: { key: string; end(): void }[] = []
  const cache = createRevalidatedCache<string>({
    clock,
    copies: new LRUCache({ max: 10_000 }),
    staleLimitMs: Number.POSITIVE_INFINITY,
    read(key) {
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      const value = key === 'known' ? key : undefined
      reading.push({ key, end: () => resolve(value) })
      return promise
    },
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const known = cache.get('known')
  await settle()
  reading.shift()?.end()
  expect(await known).toBe('known')
  const unknown = Array.from({ length: 1_100 }, (_, index) => cache.get(`unknown ${index}`))
  await settle()
  expect(reading).toHaveLength(100)
  await expect(cache.get('one more')).rejects.toMatchObject({ code: 'storage_unavailable' })
  clock.advance(600)
  const again = cache.get('known')
  await settle()
  expect(reading.at(-1)?.key).toBe('known')
  while (reading.length > 0) {
    reading.shift()?.end()
    await settle()
    expect(reading.length).toBeLessThanOrEqual(101)
  }
  expect(await again).toBe('known')
  expect(await Promise.all(unknown)).toEqual(new Array(1_100).fill(undefined))
})
