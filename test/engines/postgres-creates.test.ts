import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Store } from '../../src/core/context.ts'
import { newId } from '../../src/core/ids.ts'
import type { KeyRecord } from '../../src/core/records.ts'
import { openPostgresStore } from '../../src/storage/postgres-store.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { keyRecord } from '../support/key-records.ts'
import { createProject, limits, origin } from '../support/store.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

let database: TestDatabase
let proxy: TcpProxy
let store: Store
beforeAll(async () => {
  database = await createDatabase('postgres')
  const { port } = new URL(database.url)
  proxy = await startTcpProxy(Number(port))
  store = await openPostgresStore({ url: database.url.replace(port, String(proxy.port)) })
})
afterAll(async () => {
  await store.close()
  await proxy.close()
  await database.remove()
})

/** So many as one transaction takes, and some more. */
const count = 40

async function newProjects(): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    ids.push((await createProject(store, `p-${newId().slice(-12)}`)).id)
  }
  return ids
}

const create = (key: KeyRecord) =>
  store.commit({ type: 'key.create', origin: origin(), key, limits })

/** The keys of each project, and its revision. */
const kept = (projectIds: string[]) =>
  Promise.all(
    projectIds.map(async (id) => {
      const found = await store.keySet(id)
      return { revision: found?.revision, keys: found?.keys }
    }),
  )

const alone = (keys: KeyRecord[]) => keys.map((key) => ({ revision: 2, keys: [key] }))

async function transactionsOf(keys: KeyRecord[]): Promise<number> {
  const places = keys.map(() => '?').join(', ')
  const ids = keys.map(({ id }) => id)
  const [row] = await database.sql(
    `select count(distinct xmin::text) as count from jwt_key where id in (${places})`,
    ...ids,
  )
  return Number(row?.count)
}

test('keys of many projects that come at once are created in few transactions', async () => {
  const projectIds = await newProjects()
  const keys = projectIds.map((id) => keyRecord(id))
  expect(await Promise.all(keys.map(create))).toEqual(keys)
  expect(await kept(projectIds)).toEqual(alone(keys))
  expect(await transactionsOf(keys)).toBeLessThan(count / 4)
})

test('one that is refused is refused alone, with its own reason', async () => {
  const projectIds = await newProjects()
  const keys = projectIds.map((id) => keyRecord(id))
  const [twin, crowded, lost, ...others] = keys
  if (twin === undefined || crowded === undefined || lost === undefined) throw new Error('too few')
  await create(twin)
  const answers = await Promise.allSettled([
    create({ ...twin, id: newId() }),
    store.commit({
      type: 'key.create',
      origin: origin(),
      key: crowded,
      limits: { ...limits, maxKeys: 0 },
    }),
    create({ ...lost, projectId: newId() }),
    ...others.map(create),
  ])
  const codes = answers.map((answer) =>
    answer.status === 'rejected' ? answer.reason.code : answer.value.id,
  )
  const refusals = ['duplicate_key', 'key_limit_reached', 'project_not_found']
  expect(codes).toEqual([...refusals, ...others.map(({ id }) => id)])
  const empty = { revision: 1, keys: [] }
  expect(await kept(projectIds)).toEqual([...alone([twin]), empty, empty, ...alone(others)])
})

test('one key that comes for many projects at once is created in each', async () => {
  const projectIds = await newProjects()
  const key = keyRecord(projectIds[0] ?? '')
  const keys = projectIds.map((projectId) => ({ ...key, id: newId(), projectId }))
  expect(await Promise.all(keys.map(create))).toEqual(keys)
  expect(await kept(projectIds)).toEqual(alone(keys))
})

test.each(['before', 'after'] as const)(
  'where the line breaks %s the server has the commit of many, each is created once',
  async (when) => {
    const projectIds = await newProjects()
    const keys = projectIds.map((id) => keyRecord(id))
    proxy.cutAt('commit\0', when)
    expect(await Promise.all(keys.map(create))).toEqual(keys)
    expect(await kept(projectIds)).toEqual(alone(keys))
  },
)
