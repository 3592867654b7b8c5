import { expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { readKeySet, readKeySetInPages } from '../../../packages/server/src/features/keys/reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, openTestStore, origin } from '../../support/store/store.ts'

const { store } = await openTestStore()
const { id: projectId } = await createProject(store, 'large')
const template = keyRecord(projectId)
const limits = { maxKeys: 5_000, maxJwksBytes: 10_000_000 }
const keys = Array.from({ length: 1_200 }, (_, index) => {
  if (index === 0) return template
  const id = newId()
  // Unequal hashes in place of pairs of keys, which would take seconds.
  const hashes = { thumbprint: `t-${id}`, spkiSha256: `s-${id}`, materialSha256: `m-${id}` }
  return { ...template, id, ...hashes }
})
await store.commit(keyChanges.importKeys, {
  origin: origin(),
  projectId,
  keys: keys.map((key, index) => ({ index, key, kidProvided: false })),
  limits,
  compared: [],
  dryRun: false,
})

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
