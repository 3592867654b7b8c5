import { expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { features } from '../../../packages/server/src/features.ts'
import { createReadCaller } from '../../../packages/server/src/kernel/access/callers.ts'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import { createHooks } from '../../../packages/server/src/kernel/hooks.ts'
import { createKernel } from '../../../packages/server/src/kernel/kernel.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { endLater } from '../../support/ending.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { limits, origin } from '../../support/store/store.ts'

const { context, project } = await startApp()

/** A kernel over the store, and the order of its notices and of what a test adds. */
function watched(store: Store) {
  const log: string[] = []
  const kernel = createKernel({ ...context, store }, createReadCaller(features), createHooks([]))
  endLater(() => kernel.close())
  kernel.onCommit((ledgerId) => log.push(ledgerId))
  return { store: kernel.store, log }
}

test('a commit is notified before it resolves', async () => {
  const { store, log } = watched(context.store)
  const id = newId()
  const change = { origin: origin(), id, name: 'announced' }
  await store.commit(projectChanges.createProject, change).then(() => log.push('done'))
  expect(log).toEqual([id, systemLedgerId, 'done'])
})

test('an unclear commit is notified before it rejects', async () => {
  const { store, log } = watched({
    ...context.store,
    async commit(kind, change) {
      await context.store.commit(kind, change)
      throw new Error('the answer was lost')
    },
  })
  const key = keyRecord(project.id)
  const create = store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  await create.catch(() => log.push('failed'))
  expect(log).toEqual([project.id, 'failed'])
  expect((await keySetOf(store, project.id))?.keys).toEqual([key])
})
