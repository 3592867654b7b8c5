import { expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import { withCommitNotices } from '../../../packages/server/src/kernel/kernel.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()

/** The store with notices, and the order of commits and notices. */
function watched(store: Store) {
  const log: string[] = []
  return { store: withCommitNotices(store, (ledgerId) => log.push(ledgerId)), log }
}

test('a commit is notified before it resolves', async () => {
  const { store, log } = watched(opened.store)
  const id = newId()
  const change = { origin: origin(), id, name: 'announced' }
  await store.commit(projectChanges.createProject, change).then(() => log.push('done'))
  expect(log).toEqual([id, systemLedgerId, 'done'])
})

test('an unclear commit is notified before it rejects', async () => {
  const { id: projectId } = await createProject(opened.store, 'unclear')
  const { store, log } = watched({
    ...opened.store,
    async commit(kind, change) {
      await opened.store.commit(kind, change)
      throw new Error('the answer was lost')
    },
  })
  const key = keyRecord(projectId)
  const create = store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  await create.catch(() => log.push('failed'))
  expect(log).toEqual([projectId, 'failed'])
  expect((await keySetOf(store, projectId))?.keys).toEqual([key])
})
