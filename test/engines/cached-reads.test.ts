import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBatchLoader } from '../../src/async/batch-loader.ts'
import type { Store } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'

/** Two replicas: what one writes, the other reads. */
let database: TestDatabase
let one: Store
let other: Store
beforeAll(async () => {
  database = await createDatabase('postgres')
  one = await openPostgresStore({ url: database.url })
  other = await openPostgresStore({ url: database.url })
})
afterAll(async () => {
  await one.close()
  await other.close()
  await database.remove()
})

const name = () => `n-${newId().slice(-12)}`

test('every acknowledged change is seen by the next read of another replica, 300 times', async () => {
  const { id: projectId } = await createProject(one, name())
  const key = keyRecord(projectId)
  await one.commit({ type: 'key.create', origin: origin(), key, limits })
  for (let round = 0; round < 300; round += 1) {
    const [writer, reader] = round % 2 === 0 ? [one, other] : [other, one]
    const patch = { label: `label ${round}` }
    const reading = Array.from({ length: 5 }, () => reader.keySet(projectId))
    await writer.commit({
      type: 'key.update',
      origin: origin(),
      projectId,
      kid: key.id,
      patch,
      limits,
    })
    const [seen, project] = await Promise.all([
      reader.keySet(projectId),
      reader.findProject({ id: projectId }),
    ])
    expect(seen?.keys[0]?.label).toBe(patch.label)
    expect([seen?.revision, project?.revision]).toEqual([round + 3, round + 3])
    await Promise.all(reading)
  }
})

test('a name is that of whoever has it now', async () => {
  const [first, second] = [name(), name()]
  const { id } = await createProject(one, first)
  expect((await other.findProject({ name: first }))?.id).toBe(id)
  expect((await other.findProject({ name: first }))?.id).toBe(id)
  await one.commit({ type: 'project.rename', origin: origin(), projectId: id, name: second })
  expect(await other.findProject({ name: first })).toBeUndefined()
  const { id: heir } = await createProject(one, first)
  expect((await other.findProject({ name: first }))?.id).toBe(heir)
  expect((await other.findProject({ name: second }))?.id).toBe(id)
  await one.commit({ type: 'project.delete', origin: origin(), projectId: heir })
  expect(await other.findProject({ name: first })).toBeUndefined()
  expect(await other.findProject({ id: heir })).toBeUndefined()
  expect(await other.keySet(heir)).toBeUndefined()
})

test('another history with the same revision, as after a lossy fail-over, is not taken for the same', async () => {
  const { id: projectId } = await createProject(one, name())
  const key = keyRecord(projectId)
  await one.commit({ type: 'key.create', origin: origin(), key, limits })
  expect((await other.keySet(projectId))?.keys[0]?.enabled).toBe(true)
  await database.query('update jwt_key set enabled = 0 where project_id = ?', projectId)
  await database.query('update ledger set hash = ? where project_id = ?', 'f'.repeat(64), projectId)
  expect((await other.keySet(projectId))?.keys[0]?.enabled).toBe(false)
})

test('a look-up serves nobody who came after it began, and one is under way at a time', async () => {
  let value = 0
  let running = 0
  let queries = 0
  const lookup = createBatchLoader<number>(async (ids) => {
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
      expect((await lookup([id])).get(id)).toBeGreaterThanOrEqual(before)
      value += 1
    }
  })
  await Promise.all(readers)
  expect(queries).toBeLessThan(100)
})

test('whether something is unchanged is told of what was acknowledged before the question, by whomever', async () => {
  const { id: projectId } = await createProject(one, name())
  const seenNow = async () => {
    const head = (await one.heads([projectId])).get(projectId)
    return [{ ledgerId: projectId, hash: head?.hash ?? '' }]
  }
  for (const writer of [other, one]) {
    const seen = await seenNow()
    expect(await one.headsMatch(seen)).toBe(true)
    const early = one.headsMatch(seen)
    const key = keyRecord(projectId)
    await writer.commit({ type: 'key.create', origin: origin(), key, limits })
    const late = [1, 2, 3].map(() => one.headsMatch(seen))
    expect(await Promise.all(late)).toEqual([false, false, false])
    await early
    expect(await one.headsMatch(await seenNow())).toBe(true)
  }
  expect(await one.headsMatch([{ ledgerId: newId(), hash: 'f'.repeat(64) }])).toBe(false)
})
