import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { keyChanges } from '../../../../packages/server/src/features/keys/changes.ts'
import { openCopyEndpoint } from '../../../../packages/server/src/kernel/storage/copy.ts'
import type { Db } from '../../../../packages/server/src/kernel/storage/schema.ts'
import { newId } from '../../../../packages/server/src/kernel/values/ids.ts'
import { keyRecord } from '../../../support/store/key-records.ts'
import {
  createProject,
  limits,
  openTestStore,
  origin,
  type TestStore,
} from '../../../support/store/store.ts'

/** More events than are read at once to find out which heads have changed. */
const manyChanges = 1_200

let here: TestStore
let elsewhere: TestStore
let [one, two] = ['', '']
beforeEach(async () => {
  here = await openTestStore()
  elsewhere = await openTestStore(here.database)
  one = (await createProject(elsewhere.store, 'one')).id
  two = (await createProject(elsewhere.store, 'two')).id
})

/** Adds a key to a project, by another connection; returns a function that gives it other labels. */
async function addKey(projectId: string): Promise<() => Promise<unknown>> {
  const { store } = elsewhere
  const key = keyRecord(projectId)
  await store.commit(keyChanges.createKey, { origin: origin(), limits, key })
  return () => {
    const change = { projectId, kid: key.id, patch: { label: newId() }, limits }
    return store.commit(keyChanges.updateKey, { origin: origin(), ...change })
  }
}

async function follow() {
  const follower = here.store.followHeads()
  for (const id of [one, two]) follower.follow(id)
  const read = async () =>
    Object.fromEntries([...(await follower.read())].map(([id, { revision }]) => [id, revision]))
  await read()
  return read
}

/** Changes the database in one transaction, as a person can who has the file. */
async function byHand(work: (db: Db) => Promise<unknown>): Promise<void> {
  const { db, commit, close } = await openCopyEndpoint(here.database.url, 'target')
  await work(db)
  await commit()
  await close()
}
const discardLastEvent = (db: Db, id: string, revision: number) =>
  db.deleteFrom('event').where('project_id', '=', id).where('revision', '=', revision).execute()
const setHead = (db: Db, id: string, revision: number) =>
  db
    .updateTable('ledger')
    .set({ revision, hash: 'of an earlier state' })
    .where('project_id', '=', id)
    .execute()

test('changed heads are found after more changes than are read at once', async () => {
  const relabel = await addKey(one)
  const read = await follow()
  await addKey(two)
  await Promise.all(Array.from({ length: manyChanges }, relabel))
  expect(await read()).toEqual({ [one]: 2 + manyChanges, [two]: 2 })
})

test('changed heads are found after the newest event was replaced by one that gets its number', async () => {
  await addKey(one)
  const read = await follow()
  await byHand(async (db) => {
    await discardLastEvent(db, one, 2)
    await setHead(db, one, 1)
  })
  await addKey(two)
  expect(await read()).toMatchObject({ [one]: 1, [two]: 2 })
})

test('changed heads are found after a head was set back, but not the newest event of all', async () => {
  await addKey(one)
  await addKey(two)
  const read = await follow()
  await byHand((db) => discardLastEvent(db, one, 2))
  await read()
  await byHand((db) => setHead(db, one, 1))
  expect(await read()).toMatchObject({ [one]: 1 })
})

test('changed heads are found after events were numbered anew', async () => {
  await addKey(one)
  await addKey(two)
  const read = await follow()
  await byHand((db) => sql`update event set rowid = rowid + 10`.execute(db))
  await addKey(one)
  expect(await read()).toMatchObject({ [one]: 3 })
})
