import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient, highLimits } from '../support/server/client.ts'
import { stopServer } from '../support/server/command.ts'
import { makeNextRelease } from '../support/server/next-release.ts'
import { spawnServer, startServer, temporaryFolder, whenReady } from '../support/server/process.ts'
import { createDatabase } from '../support/store/database.ts'
import { expectWithin } from '../support/timing.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()
const nextFolder = join(folder, 'next')
mkdirSync(nextFolder)
const program = makeNextRelease(nextFolder)

/**
 * Takes the snapshot and the locks that `pg_dump` holds until it has written everything. It stands for
 * `pg_dump`, which does not come with the PostgreSQL of the tests and refuses a server newer than itself.
 */
async function beginDump(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, application_name: 'pg_dump' })
  await client.connect()
  await client.query('begin isolation level repeatable read read only')
  const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'")
  for (const { tablename } of rows)
    await client.query(`lock table ${tablename} in access share mode`)
  await client.query('select count(*) from jwt_key')
  return client
}

test('an upgrade beside a dump delays no write of the older release, names the dump, and ends after it', async () => {
  const database = await createDatabase('postgres')
  const env = { ...highLimits, PUBRING_DATABASE_URL: database.url }
  const old = await startServer(folder, env)
  const client = createServerClient(old, old.apiKey)
  const dump = await beginDump(database.url)
  const next = await spawnServer(folder, env, { program })

  const created: (string | undefined)[] = []
  const durations: number[] = []
  const create = async () => {
    const start = performance.now()
    created.push(await client.create())
    durations.push(performance.now() - start)
  }
  const namesDump = /waits for pid \d+ \(pg_dump, since 2\d{3}-\d\d-\d\dT[\d:]+Z\)/
  const isNamed = async () => {
    const response = await fetch(`${next.url}/health/ready`).catch(() => undefined)
    return response?.status === 503 && namesDump.test(next.output())
  }
  await waitUntil(async () => {
    await create()
    return isNamed()
  })
  // Two more attempts at the lock.
  const end = performance.now() + 3_000
  while (performance.now() < end) await create()
  expect((await fetch(`${next.url}/health/ready`)).status).toBe(503)

  await dump.end()
  await whenReady(next)
  await create()
  expect(created).not.toContain(undefined)
  expect(await createServerClient(next, old.apiKey).kids()).toEqual(created)
  const slowestMs = Math.max(...durations)
  expectWithin(1_000, slowestMs)
  const indexes = await database.query(
    "select indisvalid as valid from pg_index where indexrelid = 'jwt_key_note'::regclass",
  )
  expect(indexes).toEqual([{ valid: true }])
  expect(await database.query('select note from jwt_key where note is not null')).toEqual([])
  recordFault({
    fault: 'Upgrade beside a dump (PostgreSQL)',
    observed:
      'every create 201 within a second; the newer release not ready, with the dump in its log; ready once the dump has ended',
    acknowledged: created.length,
    lost: 0,
  })
})

test('two releases run side by side; the older one restarts on the newer schema, and stays after a rollback', async () => {
  const database = await createDatabase('postgres')
  const env = { PUBRING_DATABASE_URL: database.url }

  const old = await startServer(folder, env)
  const created = [await createServerClient(old, old.apiKey).create()]
  const next = await startServer(folder, env, { program })
  expect(await database.query('select note from jwt_key')).toEqual([{ note: null }])
  created.push(await createServerClient(old, old.apiKey).create())
  created.push(await createServerClient(next, old.apiKey).create())
  await stopServer(old)

  const restarted = await startServer(folder, env)
  const client = createServerClient(restarted, old.apiKey)
  created.push(await client.create())
  expect(await createServerClient(next, old.apiKey).kids()).toEqual(created)
  await stopServer(next)
  created.push(await client.create())
  const kids = await client.kids()
  expect(kids).toEqual(created)
  await stopServer(restarted)

  await database.execute(
    "update migration_release set oldest_release = '99.0.0' where name like '9999%'",
  )
  const refused = await spawnServer(folder, env)
  expect(await refused.ended).toBe(70)
  expect(refused.output()).toMatch(/^pubring: .* Start 99\.0\.0 or later, or restore a backup/m)
  recordFault({
    fault: 'Rolling upgrade and rollback (PostgreSQL)',
    observed:
      'every create 201, on both, before, during and after; a release that is too old for the migrated database exits with one line that names the release needed',
    acknowledged: created.length,
    lost: countLost(created.map(String), kids),
  })
})
