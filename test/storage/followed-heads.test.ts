import { expect, test } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'

const here = await openTestStore()
const elsewhere = await openTestStore(here.database)

const newProject = async () => (await createProject(elsewhere.store, `followed-${newId()}`)).id
const change = (projectId: string, { store } = elsewhere) =>
  store.commit({ type: 'key.create', origin: origin(), limits, key: keyRecord(projectId) })
const head = (revision: number) => ({ revision, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })

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
  const project = { type: 'project.create', origin: origin(), id, name: `late-${id}` } as const
  await elsewhere.store.commit(project)
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
