import { afterEach, expect, test, vi } from 'vitest'
import { isKid, newId } from '../../../packages/server/src/kernel/values/ids.ts'

afterEach(() => void vi.useRealTimers())

test('ids are UUIDs that rise, also when the clock is set back or stands still', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const ids = [0, 5, -60_000, 1].flatMap((ms) => {
    vi.setSystemTime(Date.now() + ms)
    return Array.from({ length: 300 }, newId)
  })
  expect(ids.filter((id) => !isKid(id))).toEqual([])
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
})

test('an id begins with the time', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(Date.now() + 3_600_000)
  expect(Number.parseInt(newId().replace('-', '').slice(0, 12), 16)).toBe(Date.now())
})
