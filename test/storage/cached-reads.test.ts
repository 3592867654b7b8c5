import { expect, test } from 'vitest'
import type { ProjectRef } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import { systemLedgerId } from '../../src/core/ledger/chain.ts'
import { keySetBytes } from '../../src/core/records.ts'
import { cachedBytes } from '../../src/storage/reads/cached.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'

const here = await openTestStore()
const elsewhere = await openTestStore(here.database)

test('concurrent readers share one key set, and later ones get it until the project changes', async () => {
  const { id } = await createProject(here.store, `same-${newId()}`)
  // The first read is not cached.
  await here.store.keySet(id)
  const together = await Promise.all([1, 2, 3].map(() => here.store.keySet(id)))
  expect(new Set(together).size).toBe(1)
  await createProject(here.store, `other-${newId()}`)
  expect(await here.store.keySet(id)).toBe(together[0])
})

test('the next read sees a change by another connection, 50 times', async () => {
  const { id } = await createProject(here.store, `elsewhere-${newId()}`)
  for (let count = 1; count <= 50; count += 1) {
    const key = keyRecord(id)
    await elsewhere.store.commit({ type: 'key.create', origin: origin(), limits, key })
    expect((await here.store.keySet(id))?.keys.at(-1)?.id).toBe(key.id)
    expect((await here.store.keySet(id))?.keys).toHaveLength(count)
  }
})

test('a name and an id lead to the project that has them now, by the head of the system ledger', async () => {
  const { store } = here
  const [first, second] = [`first-${newId()}`, `second-${newId()}`]
  const systemHead = async () => (await store.heads([systemLedgerId])).get(systemLedgerId)?.hash
  /** Twice each, so that the second one is from memory. */
  const identify = async (ref: ProjectRef) => {
    const head = await systemHead()
    const found = []
    for (let time = 0; time < 2; time += 1) {
      found.push(await store.identifyProject(ref, head), await store.identifyProject(ref))
    }
    expect(new Set(found.map((project) => project?.id)).size).toBe(1)
    return found[0] && { id: found[0].id, name: found[0].name }
  }
  const { id } = await createProject(elsewhere.store, first)
  const before = await systemHead()
  expect(await identify({ name: first })).toEqual({ id, name: first })
  expect(await identify({ id })).toEqual({ id, name: first })
  const rename = { type: 'project.rename', origin: origin(), projectId: id, name: second } as const
  await elsewhere.store.commit(rename)
  expect(await systemHead()).not.toBe(before)
  expect(await identify({ name: first })).toBeUndefined()
  expect(await identify({ id })).toEqual({ id, name: second })
  const { id: successor } = await createProject(elsewhere.store, first)
  expect(await identify({ name: first })).toEqual({ id: successor, name: first })
  expect(await identify({ name: second })).toEqual({ id, name: second })
  const removal = { type: 'project.delete', origin: origin(), projectId: successor } as const
  await elsewhere.store.commit(removal)
  expect(await identify({ name: first })).toBeUndefined()
  expect(await identify({ id: successor })).toBeUndefined()
})

test('the estimated size of a key set exceeds its records and the three bodies made of them', () => {
  const keys = Array.from({ length: 50 }, () => keyRecord(newId()))
  const bytes = JSON.stringify(keys).length
  expect(keySetBytes({ name: '', revision: 1, head: '', keys })).toBeGreaterThan(bytes)
  expect(cachedBytes({ name: '', revision: 1, head: '', keys })).toBeGreaterThan(4 * bytes)
})
