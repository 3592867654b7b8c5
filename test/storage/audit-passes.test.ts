import { expect, test } from 'vitest'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'

const opened = await openTestStore()

async function projectWithKey(name: string) {
  const { id: projectId } = await createProject(opened.store, name)
  const key = keyRecord(projectId, { enabled: false })
  await opened.store.commit({ type: 'key.create', origin: origin(), key, limits })
  return { projectId, kid: key.id }
}

const pass = (projectId: string, kids: string[]) =>
  opened.store.commit({
    type: 'key.pass_audit',
    projectId,
    kids,
    rules: 'today',
    time: origin().time,
  })
const remove = (projectId: string, kid: string) =>
  opened.store.commit({ type: 'key.delete', origin: origin(), projectId, kid })

test('a pass writes no event, and leaves no gap before the next one', async () => {
  const { projectId, kid } = await projectWithKey('passed')
  const before = await opened.store.findProject({ id: projectId })
  await pass(projectId, [kid])
  expect(await opened.store.findProject({ id: projectId })).toEqual(before)
  await remove(projectId, kid)
  const events = await opened.store.events(projectId, { after: 0, limit: 10 })
  expect(events.map(({ revision }) => revision)).toEqual([1, 2, 3])
})

test('a pass of a key that is deleted concurrently leaves no row', async () => {
  const projects = await Promise.all(
    Array.from({ length: 60 }, (_, index) => projectWithKey(`deleted-${index}`)),
  )
  for (const { projectId, kid } of projects) {
    await Promise.all([remove(projectId, kid), pass(projectId, [kid])])
  }
  const orphans = await opened.database.query(
    'select key_id from key_audit where key_id not in (select id from jwt_key)',
  )
  expect(orphans).toEqual([])
})

test('a pass in an unknown project leaves no row', async () => {
  await pass('019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71', ['019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b72'])
  expect(
    await opened.database.query("select * from key_audit where project_id like '019ac8f2%'"),
  ).toEqual([])
})
