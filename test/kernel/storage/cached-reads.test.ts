import { expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { keySetBytes } from '../../../packages/server/src/features/keys/stored.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import type { ProjectRef } from '../../../packages/server/src/kernel/context.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { cachedByHead } from '../../../packages/server/src/kernel/storage/cached.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'
import { waitUntil } from '../../support/waiting.ts'

const here = await openTestStore()
const elsewhere = await openTestStore(here.database)

test('concurrent readers share one key set, and later ones get it until the project changes', async () => {
  const { id } = await createProject(here.store, `same-${newId()}`)
  // The first read is not cached.
  await keySetOf(here.store, id)
  const together = await Promise.all([1, 2, 3].map(() => keySetOf(here.store, id)))
  expect(new Set(together).size).toBe(1)
  await createProject(here.store, `other-${newId()}`)
  expect(await keySetOf(here.store, id)).toBe(together[0])
})

test('the next read sees a change by another connection, also beside earlier reads, 300 times', async () => {
  const { id } = await createProject(here.store, `elsewhere-${newId()}`)
  const key = keyRecord(id)
  const { id: kid } = await here.store.commit(keyChanges.createKey, {
    origin: origin(),
    limits,
    key,
  })
  for (let round = 0; round < 300; round += 1) {
    const [writer, { store }] = round % 2 === 0 ? [here, elsewhere] : [elsewhere, here]
    const patch = { label: `label ${round}` }
    const reading = Promise.all([1, 2, 3, 4, 5].map(() => keySetOf(store, id)))
    const change = { origin: origin(), projectId: id, kid, patch, limits }
    await writer.store.commit(keyChanges.updateKey, change)
    const [seen, project] = await Promise.all([
      keySetOf(store, id),
      findProjectRecord(store.reader, { id }),
    ])
    expect(seen?.keys[0]?.label).toBe(patch.label)
    expect([seen?.revision, project?.revision]).toEqual([round + 3, round + 3])
    await reading
  }
})

test('the same revision of another history, as after a lossy fail-over, is not the cached one', async () => {
  const id = await newProject()
  await change(id)
  for (const enabled of [true, true]) {
    expect((await keySetOf(here.store, id))?.keys[0]?.enabled).toBe(enabled)
  }
  await here.database.execute('update jwt_key set enabled = 0 where project_id = ?', id)
  const replaced = 'update ledger set hash = ? where project_id = ?'
  await here.database.execute(replaced, 'f'.repeat(64), id)
  expect((await keySetOf(here.store, id))?.keys[0]?.enabled).toBe(false)
})

test('heads match until a change by any connection is acknowledged', async () => {
  const { store } = here
  const ledgerId = await newProject()
  const seenNow = async () => {
    const hash = (await store.heads([ledgerId])).get(ledgerId)?.hash ?? ''
    return [{ ledgerId, hash }]
  }
  for (const writer of [elsewhere, here]) {
    const seen = await seenNow()
    expect(await store.headsMatch(seen)).toBe(true)
    const early = store.headsMatch(seen)
    await change(ledgerId, writer)
    const late = [1, 2, 3].map(() => store.headsMatch(seen))
    expect(await Promise.all(late)).toEqual([false, false, false])
    await early
    expect(await store.headsMatch(await seenNow())).toBe(true)
  }
  expect(await store.headsMatch([{ ledgerId: newId(), hash: 'f'.repeat(64) }])).toBe(false)
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
  const rename = { origin: origin(), projectId: id, name: second }
  await elsewhere.store.commit(projectChanges.renameProject, rename)
  expect(await systemHead()).not.toBe(before)
  expect(await identify({ name: first })).toBeUndefined()
  expect(await identify({ id })).toEqual({ id, name: second })
  const { id: successor } = await createProject(elsewhere.store, first)
  expect(await identify({ name: first })).toEqual({ id: successor, name: first })
  expect(await identify({ name: second })).toEqual({ id, name: second })
  const removal = { origin: origin(), projectId: successor }
  await elsewhere.store.commit(projectChanges.deleteProject, removal)
  expect(await identify({ name: first })).toBeUndefined()
  expect(await identify({ id: successor })).toBeUndefined()
})

test('a read of what has changed gets what was cached before, also beside another and after a failed one', async () => {
  const { id } = await createProject(here.store, `earlier-${newId()}`)
  const reads: (number | undefined)[] = []
  let gate = async () => {}
  const revisionOf = cachedByHead<{ revision: number; head: string }>({
    async read(_db, projectId, earlier) {
      const found = (await here.store.heads([projectId])).get(projectId)
      reads.push(earlier?.revision)
      await gate()
      return found && { revision: found.revision, head: found.hash }
    },
    bytes: () => 1,
    maxBytes: 100,
    isCostly: true,
  })
  await revisionOf(here.store, id)
  await change(id)
  gate = async () => {
    throw new Error('failed')
  }
  await expect(revisionOf(here.store, id)).rejects.toThrow('failed')
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = () => promise
  const first = revisionOf(here.store, id)
  await waitUntil(() => reads.length === 3)
  await change(id)
  const second = revisionOf(here.store, id)
  await waitUntil(() => reads.length === 4)
  resolve()
  await Promise.all([first, second])
  expect(reads).toEqual([undefined, 1, 1, 1])
})

test('the estimated size of a key set exceeds its records', () => {
  const keys = Array.from({ length: 50 }, () => keyRecord(newId()))
  const bytes = JSON.stringify(keys).length
  expect(keySetBytes({ name: '', revision: 1, head: '', keys })).toBeGreaterThan(bytes)
})

const newProject = async () => (await createProject(elsewhere.store, `followed-${newId()}`)).id
const change = (projectId: string, { store } = elsewhere) =>
  store.commit(keyChanges.createKey, { origin: origin(), limits, key: keyRecord(projectId) })
const head = (revision: number) =>
  expect.objectContaining({ revision, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })

async function follow(...ledgerIds: string[]) {
  const follower = here.store.followHeads()
  for (const id of ledgerIds) follower.follow(id)
  const read = async () => Object.fromEntries(await follower.read())
  return { ...follower, read }
}

test('a followed head is returned once, and again after each change by any connection', async () => {
  const [one, two] = [await newProject(), await newProject()]
  const follower = await follow(one, two)
  expect(await follower.read()).toEqual({ [one]: head(1), [two]: head(1) })
  expect(await follower.read()).toEqual({})
  await change(one)
  await change(await newProject())
  expect(await follower.read()).toEqual({ [one]: head(2) })
  await change(two, here)
  await change(two)
  expect(await follower.read()).toEqual({ [two]: head(3) })
  follower.follow(one)
  expect(await follower.read()).toEqual({ [one]: head(2) })
  follower.unfollow(one)
  await change(one)
  expect(await follower.read()).toEqual({})
})

test('a ledger that does not exist is returned when it does', async () => {
  const id = newId()
  const follower = await follow(id)
  expect(await follower.read()).toEqual({})
  const project = { origin: origin(), id, name: `late-${id}` }
  await elsewhere.store.commit(projectChanges.createProject, project)
  expect(await follower.read()).toEqual({ [id]: head(1) })
})

test('a failed read loses nothing', async () => {
  const id = await newProject()
  const follower = await follow(id)
  await follower.read()
  await change(id)
  const fault = await here.database.destroy()
  await expect(follower.read()).rejects.toMatchObject({ code: 'storage_unavailable' })
  await fault.restore()
  await expect.poll(() => follower.read().catch(() => ({}))).toEqual({ [id]: head(2) })
})
