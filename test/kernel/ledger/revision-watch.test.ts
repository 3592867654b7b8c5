import { expect, test, vi } from 'vitest'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import { createRevisionWatch } from '../../../packages/server/src/kernel/ledger/revision-watch.ts'
import type { LedgerHead } from '../../../packages/server/src/kernel/records.ts'
import { systemClock } from '../../../packages/server/src/runtime/clock.ts'
import { createProject, openTestStore } from '../../support/store/store.ts'

/** Long enough that the only reads are the one at the start and those of `checkNow`. */
const intervalMs = 3_600_000

const opened = await openTestStore()

test('a read of one ledger does not report heads of others, which may be outdated by then', async () => {
  const { id: one } = await createProject(opened.store, 'one')
  const { id: other } = await createProject(opened.store, 'other')
  // As on PostgreSQL, where concurrent callers share a query.
  const heads: Store['heads'] = (ids) => opened.store.heads([...ids, other])
  const watch = createRevisionWatch({ ...opened.store, heads }, systemClock, intervalMs)
  const update = vi.fn(async () => {})
  watch.follow(other, { isCurrent: (head) => head === undefined, update })
  const { promise: reported, resolve } = Promise.withResolvers<LedgerHead | undefined>()
  watch.follow(one, {
    isCurrent: (head) => head === undefined,
    update: async (head) => resolve(head),
  })
  watch.checkNow(one)
  expect(await reported).toMatchObject({ revision: 1 })
  expect(update).not.toHaveBeenCalled()
  watch.close()
})
