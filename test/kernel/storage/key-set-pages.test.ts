import { expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { readKeySet, readKeySetInPages } from '../../../packages/server/src/features/keys/reads.ts'
import { distinctKey, keyImport, keyRecord } from '../../support/store/key-records.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, openTestStore, origin } from '../../support/store/store.ts'

const { store } = await openTestStore()
const { id: projectId } = await createProject(store, 'large')
const template = keyRecord(projectId)
const limits = { maxKeys: 5_000, maxJwksBytes: 10_000_000 }
const keys = Array.from({ length: 1_200 }, (_, index) =>
  index === 0 ? template : distinctKey(template),
)
await store.commit(keyChanges.importKeys, keyImport(keys))

test('thousands of keys are read in pages, and are of one revision even if one changes meanwhile', async () => {
  const sizes: number[] = []
  let meanwhile = async () => {}
  const db = observedReads(store.reader, {
    async read(rows) {
      sizes.push(rows)
      await meanwhile()
    },
  })
  const before = await readKeySetInPages(db, projectId)
  expect(sizes).toEqual([500, 500, 200])
  expect(before).toEqual(await readKeySet(store.reader, projectId))
  expect(before?.keys.map(({ id }) => id)).toEqual(keys.map(({ id }) => id).toSorted())
  meanwhile = async () => {
    meanwhile = async () => {}
    const patch = { label: 'changed' }
    const kid = keys[0]?.id ?? ''
    await store.commit(keyChanges.updateKey, { origin: origin(), projectId, kid, patch, limits })
  }
  const after = await readKeySetInPages(db, projectId)
  expect(after).toEqual(await readKeySet(store.reader, projectId))
  expect(after?.keys[0]?.label).toBe('changed')
})
