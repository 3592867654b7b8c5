import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { openStore } from '../../src/storage/open.ts'
import { createBlankDatabase, type TestDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'

const role = `limited_${newId().slice(-12)}`
let database: TestDatabase
let url: string
beforeAll(async () => {
  database = await createBlankDatabase('postgres')
  await database.query(`create role ${role} login connection limit 3`)
  await database.query(`alter database ${new URL(database.url).pathname.slice(1)} owner to ${role}`)
  await database.query(`grant all on schema public to ${role}`)
  url = database.url.replace('postgres@', `${role}@`)
})
afterAll(async () => {
  await database.query(`reassign owned by ${role} to postgres; drop owned by ${role}`)
  await database.query(`drop role ${role}`)
  await database.remove()
})

function endSessions() {
  return database.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${role}'`,
  )
}

async function open() {
  const store = await openStore(`${url}?pool_size=10`)
  onTestFinished(() => store.close())
  return store
}

test('more requests than the server allows connections wait for one', async () => {
  const store = await open()
  const projects = await Promise.all(
    Array.from({ length: 20 }, () => createProject(store, `p-${newId().slice(-12)}`)),
  )
  await Promise.all(
    projects.map(({ id }) =>
      store.commit({ type: 'key.create', origin: origin(), key: keyRecord(id), limits }),
    ),
  )
  const sets = await Promise.all(projects.map(({ id }) => store.published.keySet(id)))
  expect(sets.map((set) => set?.keys.length)).toEqual(projects.map(() => 1))
})

test('while no connection is free, a request waits for one up to its timeout', async () => {
  const store = await open()
  await store.ping()
  await database.query(`alter role ${role} connection limit 0`)
  await endSessions()
  const start = performance.now()
  await expect(store.ping()).rejects.toMatchObject({ code: 'storage_unavailable' })
  expect(performance.now() - start).toBeGreaterThan(1_500)
  const waiting = store.ping()
  await delay(1_000)
  await database.query(`alter role ${role} connection limit 3`)
  await waiting
})
