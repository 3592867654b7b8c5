import { afterAll, expect, onTestFinished, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { readKeySet } from '../../packages/server/src/features/keys/reads.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import { features } from '../../packages/server/src/features.ts'
import { loadAppliers } from '../../packages/server/src/kernel/feature.ts'
import { parsePostgresAddress } from '../../packages/server/src/kernel/storage/postgres/address.ts'
import { createCommit } from '../../packages/server/src/kernel/storage/postgres/commit.ts'
import { openDatabase } from '../../packages/server/src/kernel/storage/postgres/database.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { systemClock } from '../../packages/server/src/runtime/clock.ts'
import { createBlankDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { readNewest } from '../support/store/newest.ts'
import { createProject, limits, origin } from '../support/store/store.ts'

const role = `limited_${newId().slice(-12)}`

const database = await createBlankDatabase('postgres')
await database.query(`create role ${role} login connection limit 3`)
await database.query(`alter database ${new URL(database.url).pathname.slice(1)} owner to ${role}`)
await database.query(`grant all on schema public to ${role}`)
const url = database.url.replace('postgres@', `${role}@`)

afterAll(async () => {
  await database.query(`reassign owned by ${role} to postgres; drop owned by ${role}`)
  await database.query(`drop role ${role}`)
})

function endSessions() {
  return database.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${role}'`,
  )
}

async function open(seconds: number) {
  const store = await openStore(`${url}&pool_size=10&connect_timeout=${seconds}`)
  onTestFinished(() => store.close())
  return store
}

test('more requests than the server allows connections wait for one', async () => {
  const store = await open(60)
  const projects = await Promise.all(
    Array.from({ length: 20 }, () => createProject(store, `p-${newId().slice(-12)}`)),
  )
  await Promise.all(
    projects.map(({ id }) =>
      store.commit(keyChanges.createKey, { origin: origin(), key: keyRecord(id), limits }),
    ),
  )
  const sets = await Promise.all(
    projects.map(({ id }) => readNewest(store.published, id, readKeySet)),
  )
  expect(sets.map((set) => set?.keys.length)).toEqual(projects.map(() => 1))
})

test('while no connection is free, a request waits for one up to its timeout', async () => {
  const [hasty, patient] = [await open(1), await open(60)]
  await Promise.all([hasty.ping(), patient.ping()])
  await database.query(`alter role ${role} connection limit 0`)
  await endSessions()
  const start = performance.now()
  const waiting = patient.ping()
  await expect(hasty.ping()).rejects.toMatchObject({ code: 'storage_unavailable' })
  expect(performance.now() - start).toBeGreaterThan(900)
  await database.query(`alter role ${role} connection limit 3`)
  await waiting
})

test('requests and changes that wait for a busy connection do so up to its timeout', async () => {
  const address = parsePostgresAddress(`${url}&pool_size=2&connect_timeout=60`)
  const busy = openDatabase(address, 'primary')
  onTestFinished(() => busy.close())
  const sleep = { sql: 'select pg_sleep(5)', parameters: [] }
  const sleeping = Promise.all([busy.read(sleep), busy.read(sleep)])
  const { commit } = createCommit(
    { appliers: await loadAppliers(features), clock: systemClock },
    busy,
    address,
  )
  const id = newId()
  await commit(projectChanges.createProject, { origin: origin(), id, name: `p-${id.slice(-12)}` })
  await sleeping
})
