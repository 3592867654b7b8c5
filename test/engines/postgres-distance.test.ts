import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { readKeySet } from '../../packages/server/src/features/keys/reads.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import { findProjectRecord } from '../../packages/server/src/kernel/access/stored-projects.ts'
import type { Store } from '../../packages/server/src/kernel/context.ts'
import type { ProjectRecord } from '../../packages/server/src/kernel/records.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { startApp } from '../support/app/app.ts'
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { readNewest } from '../support/store/newest.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'

const roundTripMs = 80

/** Returns how many there were since the call. */
function countingRoundTrips(proxy: TcpProxy): () => number {
  let [count, lastTime] = [0, 0]
  proxy.watch(() => {
    const time = performance.now()
    // Data sent within half a round trip did not wait for an answer.
    if (time - lastTime > roundTripMs / 2) count += 1
    lastTime = time
  })
  return () => count
}

describe(`with a database ${roundTripMs} ms away`, () => {
  let database: TestDatabase
  let proxy: TcpProxy
  let store: Store
  let project: ProjectRecord

  beforeAll(async () => {
    database = await createDatabase('postgres')
    const { port } = new URL(database.url)
    proxy = await startTcpProxy(Number(port))
    proxy.delay(roundTripMs)
    const url = database.url.replace(port, String(proxy.port))
    store = (await openTestStore({ ...database, url })).store
    project = await createProject(store, 'p')
  })

  /** Once there is a connection. */
  async function countRoundTrips(work: () => Promise<unknown>): Promise<number> {
    await work()
    await delay(roundTripMs)
    const roundTrips = countingRoundTrips(proxy)
    await work()
    return roundTrips()
  }

  test('a read takes one round trip', async () => {
    const { id, name } = project
    expect(await countRoundTrips(() => store.heads([id]))).toBe(1)
    expect(await countRoundTrips(() => findProjectRecord(store.reader, { name }))).toBe(1)
    expect(await countRoundTrips(() => readNewest(store.published, id, readKeySet))).toBe(1)
  })

  test('a new key takes three, and reads what is published only if another process changed it', async () => {
    let answers = ''
    proxy.watchAnswers((chunk) => {
      answers += chunk
    })
    const hasReadKeys = () => answers.includes('{"keys":[{')
    const create = () =>
      store.commit(keyChanges.createKey, { origin: origin(), key: keyRecord(project.id), limits })
    expect(await countRoundTrips(create)).toBe(3)
    expect(hasReadKeys()).toBe(false)
    // Also after a change of another process.
    const other = await openStore(database.url)
    const renaming = { origin: origin(), projectId: project.id, name: `p-${newId().slice(-12)}` }
    await other.commit(projectChanges.renameProject, renaming)
    await other.close()
    const roundTrips = countingRoundTrips(proxy)
    await create()
    expect(roundTrips()).toBe(3)
    expect(hasReadKeys()).toBe(true)
  })
})

test.each(['id', 'name'] as const)(
  'a process that starts 80 ms from its database reads 400 key sets by %s in a few statements',
  async (by) => {
    const near = await openTestStore(await createDatabase('postgres'))
    const names = Array.from({ length: 400 }, () => `p-${newId().slice(-12)}`)
    const projects = await Promise.all(names.map((name) => createProject(near.store, name)))
    const { port } = new URL(near.database.url)
    const proxy = await startTcpProxy(Number(port))
    proxy.delay(roundTripMs)
    const url = near.database.url.replace(port, String(proxy.port))
    const { send } = await startApp({ database: { ...near.database, url } })
    const reads = { id: 0, name: 0 }
    // The watch over the ledgers asks for none of them.
    proxy.watch((chunk) => {
      if (projects.some(({ id }) => chunk.includes(id))) reads.id += 1
      if (projects.some(({ name }) => chunk.includes(name))) reads.name += 1
    })
    const connections = proxy.connections()
    const responses = await Promise.all(
      projects.map((project) => send('GET', `/v1/projects/${project[by]}/.well-known/jwks.json`)),
    )
    expect(responses.map(({ body }) => body)).toEqual(projects.map(() => '{"keys":[]}'))
    expect(reads[by]).toBeGreaterThanOrEqual(4)
    expect(reads.id).toBeLessThanOrEqual(10)
    expect(reads.name).toBeLessThanOrEqual(10)
    // The watch over the ledgers may need one beside that of the reads; names are read beside key sets.
    const more = { id: 1, name: 2 }[by]
    expect(proxy.connections()).toBeLessThanOrEqual(connections + more)
  },
)

test('a database that is slow to connect is waited for', async () => {
  const database = await createDatabase('postgres')
  const { port } = new URL(database.url)
  const proxy = await startTcpProxy(Number(port))
  const address = `${database.url.replace(port, String(proxy.port))}&connect_timeout=60`
  const store = await openStore(address)
  proxy.delay(400)
  proxy.restore()
  await store.ping()
})
