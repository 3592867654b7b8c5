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
  const timeOf = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16)
  vi.useFakeTimers({ toFake: ['Date'] })
  // Earlier tests of this process may have moved the clock ahead, and ids do not go back.
  vi.setSystemTime(timeOf(newId()) + 3_600_000)
  expect(timeOf(newId())).toBe(Date.now())
})
