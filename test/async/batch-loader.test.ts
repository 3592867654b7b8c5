import { expect, test } from 'vitest'
import { createBatchLoader } from '../../packages/server/src/async/single-flight.ts'

test('a batch serves no caller that came after its query started, and one query runs at a time', async () => {
  let value = 0
  let running = 0
  let queries = 0
  const load = createBatchLoader<number>(async (ids) => {
    queries += 1
    running += 1
    expect(running).toBe(1)
    const seen = value
    await new Promise((resolve) => setTimeout(resolve, 2))
    running -= 1
    return new Map(ids.map((id) => [id, seen]))
  })
  const readers = Array.from({ length: 50 }, async (_, index) => {
    for (let round = 0; round < 20; round += 1) {
      const before = value
      const id = `ledger-${index % 7}`
      expect((await load([id])).get(id)).toBeGreaterThanOrEqual(before)
      value += 1
    }
  })
  await Promise.all(readers)
  expect(queries).toBeLessThan(100)
})
