import { expect, test } from 'vitest'
import { readProjectPage } from '../../../packages/server/src/features/projects/reads.ts'
import { copyRegistry, openStore } from '../../../packages/server/src/registry.ts'
import { createBlankDatabase } from '../../support/store/database.ts'
import { createProject, openTestStore } from '../../support/store/store.ts'

const source = await openTestStore()
await createProject(source.store, 'first')
await createProject(source.store, 'second')
const target = await createBlankDatabase()

test('the copy of a source in use is one snapshot, and the summary says what it lacks', async () => {
  let isLate = false
  const summary = await copyRegistry(source.database.url, target.url, async () => {
    if (isLate) return
    isLate = true
    await createProject(source.store, 'late')
  })
  expect(summary).toMatchObject({ systemRevision: 2, ledgers: 3, newerLedgers: 2 })
  const copy = await openStore(target.url)
  expect(await readProjectPage(copy.reader, { limit: 5 })).toMatchObject([
    { name: 'first' },
    { name: 'second' },
  ])
  await copy.close()
})

test('tables that contradict their ledgers are copied, and named', async () => {
  const other = await createBlankDatabase()
  const backdate = 'update project set create_time = ? where name = ?'
  await source.database.execute(backdate, '2020-01-01T00:00:00.000Z', 'first')
  await expect(copyRegistry(source.database.url, other.url, () => {})).rejects.toThrow(
    /contradicts? (its|the) ledger/,
  )
})
