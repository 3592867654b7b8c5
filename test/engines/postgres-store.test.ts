import { beforeAll, describe, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import {
  readKeySet,
  readPublishedRows,
  toPublishedKeySet,
} from '../../packages/server/src/features/keys/reads.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import type { Store } from '../../packages/server/src/kernel/context.ts'
import { kernelChanges } from '../../packages/server/src/kernel/kernel-changes.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openServerStore } from '../../packages/server/src/registry.ts'
import { endLater } from '../support/ending.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { readNewest } from '../support/store/newest.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'
import { expectWithin } from '../support/timing.ts'

const database = await createDatabase('postgres')

async function open(parameters = '', url = database.url): Promise<Store> {
  return (await openTestStore({ ...database, url: `${url}${parameters}` })).store
}

const name = () => `n-${newId().slice(-12)}`

test('text columns compare byte by byte with any collation of the database', async () => {
  const columns = await database.query(
    "select table_name, column_name from information_schema.columns where table_schema = 'public' and table_name not like 'kysely%' and data_type = 'text' and collation_name is distinct from 'C'",
  )
  expect(columns).toEqual([])
  const [row] = await database.query(
    'select datlocprovider::text as provider from pg_database where datname = current_database()',
  )
  expect(row).toEqual({ provider: 'i' })
})

const headsOf = (ledgerId: string, revision: number) =>
  new Map([[ledgerId, { revision, hash: expect.any(String), eventlessTime: null }]])

test('a change without effect writes nothing and releases its connection', async () => {
  const store = await open('&pool_size=2')
  const project = await createProject(store, name())
  const rename = { origin: origin(), projectId: project.id }
  for (let index = 0; index < 10; index += 1) {
    expect(
      await store.commit(projectChanges.renameProject, { ...rename, name: project.name }),
    ).toEqual(project)
    await expect(
      store.commit(projectChanges.renameProject, {
        origin: origin(),
        projectId: newId(),
        name: 'x',
      }),
    ).rejects.toMatchObject({ code: 'project_not_found' })
  }
  expect(await store.heads([project.id])).toEqual(headsOf(project.id, 1))
})

test('a commit waits for the disk although the server’s default is not to', async () => {
  await database.query(
    `alter database ${new URL(database.url).pathname.slice(1)} set synchronous_commit = off`,
  )
  const seen: string[] = []
  const proxy = await startTcpProxy(Number(new URL(database.url).port))
  proxy.watch((chunk) => seen.push(chunk.toString('latin1')))
  const { port } = new URL(database.url)
  const store = await open('', database.url.replace(port, String(proxy.port)))
  await createProject(store, name())
  expect(seen.join('')).toContain('set local synchronous_commit = on')
})

test('a statement that exceeds its timeout fails, and the next one works', async () => {
  const store = await open('&statement_timeout=700')
  await createProject(store, name())
  const lock = await database.lockWrites()
  const start = performance.now()
  await expect(
    store.commit(kernelChanges.touchCredentials, {
      uses: [{ type: 'api_key', id: newId(), time: origin().time }],
    }),
  ).resolves.toBeUndefined()
  await expect(createProject(store, name())).rejects.toMatchObject({ code: 'storage_unavailable' })
  expectWithin(3_000, performance.now() - start)
  await lock.release()
  await createProject(store, name())
})

describe('published reads on a standby', () => {
  let standby: TestDatabase
  beforeAll(async () => {
    standby = await (await createDatabase('postgres')).copy()
  })

  async function openWithReplica(replicaUrl: string, url = database.url): Promise<Store> {
    const { store, prepared } = await openServerStore(url, replicaUrl)
    endLater(() => store.close())
    await prepared
    return store
  }

  test('are never older than the primary', async () => {
    // A copy, which never receives a change: a standby that is always behind.
    const store = await openWithReplica(standby.url)
    const other = await open()
    const { published } = store
    const project = await createProject(other, name())
    const key = keyRecord(project.id)
    await other.commit(keyChanges.createKey, { origin: origin(), key, limits })
    expect(await published.heads([project.id])).toEqual(headsOf(project.id, 2))
    expect(await readNewest(store.published, project.id, readKeySet)).toMatchObject({
      revision: 2,
      keys: [key],
    })
    expect(await readNewest(store.published, newId(), readKeySet)).toBeUndefined()
  })

  test('come from the standby if it is current, but not from another history', async () => {
    const store = await openWithReplica(standby.url)
    const other = await open('', standby.url)
    const projectId = newId()
    const create = { id: projectId, name: name() }
    for (const each of [store, other]) {
      await each.commit(projectChanges.createProject, { ...create, origin: origin() })
    }
    const key = keyRecord(projectId)
    await other.commit(keyChanges.createKey, { origin: origin(), key, limits })
    await store.commit(projectChanges.renameProject, { origin: origin(), projectId, name: name() })
    // The same revision on the standby belongs to a change that the primary does not have.
    expect((await readNewest(store.published, projectId, readKeySet))?.keys).toEqual([])
    await other.commit(projectChanges.renameProject, { origin: origin(), projectId, name: name() })
    expect(await readNewest(store.published, projectId, readKeySet)).toMatchObject({
      revision: 3,
      keys: [key],
    })
    expect((await keySetOf(store, projectId))?.keys).toEqual([])
  })

  test('come from the standby alone while the primary is away, if it has the project', async () => {
    const { port } = new URL(database.url)
    const proxy = await startTcpProxy(Number(port))
    const away = database.url.replace(port, String(proxy.port))
    const store = await openWithReplica(standby.url, away)
    const other = await open('', standby.url)
    const [known, unknown] = [(await createProject(other, name())).id, newId()]
    proxy.cut()
    const found = await store.published.newest([known, unknown], readPublishedRows)
    expect(found.get(known)).toMatchObject({ id: known, revision: 1 })
    expect(found.get(unknown)).toMatchObject({ code: 'storage_unavailable' })
    // Its keys are there too.
    await standby.execute('delete from published_key_set where project_id = ?', known)
    const row = (await store.published.newest([known], readPublishedRows)).get(known)
    if (row === undefined || row instanceof Error) throw new Error('no row')
    expect(await toPublishedKeySet(row, '')).toMatchObject({ revision: 1, texts: { list: '[]' } })
  })

  test('come from the primary if the standby is unavailable', async () => {
    const unreachable = standby.url.replace(/:\d+\//, ':1/')
    const store = await openWithReplica(unreachable)
    const project = await createProject(store, name())
    expect(await readNewest(store.published, project.id, readKeySet)).toMatchObject({
      revision: 1,
      keys: [],
    })
    expect(await store.published.heads([project.id])).toEqual(headsOf(project.id, 1))
  })
})
