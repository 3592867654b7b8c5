import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { fetchJwks, newProject, patchKey, registerKey } from '../support/app/keys.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { distinctKey, keyImport, keyRecord } from '../support/store/key-records.ts'
import { createProject, openTestStore } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

const jwksUrlOf = (id: string) => `/v1/projects/${id}/.well-known/jwks.json`

/** Has the reads of several key sets wait until they are released. */
async function holdBatches(database: TestDatabase) {
  await database.query('create table held (id integer)')
  await database.query('insert into held values (1)')
  await database.query(`create function wait() returns boolean language plpgsql as
    $$ begin while exists (select from held) loop perform pg_sleep(0.01); end loop; return true; end $$`)
  await database.query('alter table published_key_set rename to whole')
  await database.query(`create view published_key_set as select * from whole
    where current_query() not like '%jwks_full%$2)' or wait()`)
  return () => database.query('delete from held')
}

const waiting =
  "select from pg_stat_activity where query like '%jwks_full%$2)' and state = 'active'"

const revocations: [string, (server: TestApp, database: TestDatabase) => Promise<TestApp>][] = [
  ['by this process', async (server) => server],
  ['by another process', (_server, database) => startApp({ database })],
]

test.each(revocations)(
  'a key that is revoked %s while key sets are read for the first time is not served until those are read',
  async (_by, revokerOf) => {
    const database = await createDatabase('postgres')
    const server = await startApp({ database })
    const kid = await registerKey(server)
    expect((await fetchJwks(server)).body).toContain(kid)
    const revoker = await revokerOf(server, database)
    const cold = await Promise.all(['one', 'two'].map((name) => newProject(server, name)))
    const release = await holdBatches(database)
    const first = Promise.all(cold.map(({ id }) => fetchJwks(server, {}, jwksUrlOf(id))))
    await waitUntil(async () => (await database.query(waiting)).length > 0)
    await patchKey(revoker, kid, { active: false })
    await waitUntil(async () => !(await fetchJwks(server)).body.includes(kid))
    expect(await database.query(waiting)).toHaveLength(1)
    await release()
    expect((await first).map(({ statusCode }) => statusCode)).toEqual([200, 200])
  },
)

test('key sets that a slow network does not transfer together in time are read in smaller parts', async () => {
  const near = await openTestStore(await createDatabase('postgres'))
  const projects = await Promise.all(
    Array.from({ length: 12 }, () => createProject(near.store, `p-${newId().slice(-12)}`)),
  )
  for (const { id } of projects) {
    const template = keyRecord(id, { algorithm: 'RS256', jwsAlgorithm: 'RS256', bits: 4096 })
    const keys = Array.from({ length: 50 }, () => {
      const jwk = { kty: 'RSA' as const, n: randomBytes(512).toString('base64url'), e: 'AQAB' }
      return { ...distinctKey(template), jwk }
    })
    await near.store.commit(keyChanges.importKeys, keyImport(keys))
  }
  const { port } = new URL(near.database.url)
  const proxy = await startTcpProxy(Number(port))
  proxy.throttle(200)
  const url = near.database.url
    .replace(port, String(proxy.port))
    .replace(/&statement_timeout=\d+/, '')
  const { send } = await startApp({ database: { ...near.database, url } })
  const responses = await Promise.all(projects.map(({ id }) => send('GET', jwksUrlOf(id))))
  expect(responses.map(({ statusCode }) => statusCode)).toEqual(projects.map(() => 200))
  expect(Math.min(...responses.map(({ body }) => JSON.parse(body).keys.length))).toBe(50)
})
