import { expect, test } from 'vitest'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { listProjects } from '../../../packages/server/src/features/projects/operations.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()

test('a caller bound to projects gets pages of those that exist, in order, by one query each', async () => {
  const { store, database } = opened
  const names = ['one', 'deleted', 'forged', 'two', 'hidden', 'three']
  const ids = new Map<string, string>()
  for (const name of names) ids.set(name, (await createProject(store, name)).id)
  const projectId = ids.get('deleted') ?? ''
  await store.commit(projectChanges.deleteProject, { origin: origin(), projectId })
  await database.execute("update project set name = 'mine' where name = 'forged'")
  const grants = ['three', 'two', 'forged', 'deleted', 'one'].map((name) => {
    return { role: 'reader', projectId: ids.get(name) ?? '' } as const
  })
  let queries = 0
  const reader = observedReads(store.reader, {
    read() {
      queries += 1
    },
  })
  const list = async (limit: number, after?: string) => {
    const page = after === undefined ? { limit } : { limit, after: ids.get(after) ?? '' }
    queries = 0
    const listed = await listProjects({ store: { ...store, reader } }, { grants }, page)
    expect(queries).toBeLessThanOrEqual(1)
    return listed.map(({ name }) => name)
  }
  expect(await list(2)).toEqual(['one', 'two'])
  expect(await list(9)).toEqual(['one', 'two', 'three'])
  expect(await list(1, 'two')).toEqual(['three'])
  expect(await list(9, 'three')).toEqual([])
})
