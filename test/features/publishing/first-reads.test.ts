import { LRUCache } from 'lru-cache'
import { expect, test } from 'vitest'
import { createRevalidatedCache } from '../../../packages/server/src/features/publishing/revalidated-cache.ts'
import { testClock } from '../../support/app/clock.ts'

function blockedCache() {
  const clock = testClock()
  const reading: { key: string; end(): void }[] = []
  const cache = createRevalidatedCache<string>({
    clock,
    copies: new LRUCache({ max: 10_000 }),
    staleLimitMs: Number.POSITIVE_INFINITY,
    maxFirstReads: 2,
    read(key) {
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      const value = key.startsWith('known') ? key : undefined
      reading.push({ key, end: () => resolve(value) })
      return promise
    },
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { clock, cache, reading, settle }
}

test('only as many unknown values as allowed are read at once, and known ones without waiting for them', async () => {
  const { clock, cache, reading, settle } = blockedCache()
  const known = cache.get('known')
  await settle()
  reading.shift()?.end()
  expect(await known).toBe('known')
  const unknown = Array.from({ length: 100 }, (_, index) => cache.get(`unknown ${index}`))
  await settle()
  expect(reading.map(({ key }) => key)).toEqual(['unknown 0', 'unknown 1'])
  clock.advance(600)
  const again = cache.get('known')
  await settle()
  expect(reading.map(({ key }) => key)).toEqual(['unknown 0', 'unknown 1', 'known'])
  while (reading.length > 0) {
    reading.shift()?.end()
    await settle()
    expect(reading.length).toBeLessThanOrEqual(3)
  }
  expect(await again).toBe('known')
  expect(await Promise.all(unknown)).toEqual(new Array(100).fill(undefined))
})

test('beyond a thousand that wait, further ones are storage_unavailable', async () => {
  const { cache, reading, settle } = blockedCache()
  const waiting = Array.from({ length: 1_002 }, (_, index) => cache.get(`unknown ${index}`))
  await settle()
  await expect(cache.get('one more')).rejects.toMatchObject({ code: 'storage_unavailable' })
  while (reading.length > 0) {
    reading.shift()?.end()
    await settle()
  }
  expect(await Promise.all(waiting)).toHaveLength(1_002)
})
