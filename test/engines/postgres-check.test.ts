import pg from 'pg'
import { expect, test } from 'vitest'
import { signCheckpoint } from '../../packages/server/src/features/log/signing.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { systemClock } from '../../packages/server/src/runtime/clock.ts'
import { documentOf, openShell } from '../cli/support.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { createDatabase } from '../support/store/database.ts'
import { createProject } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

const database = await createDatabase('postgres')
const store = await openStore(database.url)
for (const name of ['a', 'b', 'c']) await createProject(store, name)
const context = { store, clock: systemClock, config: { publicUrl: 'https://keys.example.com' } }
await signCheckpoint(context, createKeyFile().open())
await store.close()
const shell = openShell(() => ({ PUBRING_DATABASE_URL: database.url }))

test('check replays the ledgers and the log of PostgreSQL, and names what it does not examine', async () => {
  const before = await database.dump()
  const { code, stdout, stderr } = await shell.pubring(['check'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'whole  the database\n' })
  expect(stderr).toMatch(/^Not examined: the pages .*\(pg_amcheck/m)
  const json = documentOf(await shell.pubring(['check', '--json']))
  expect(json).toEqual({ notExamined: ['pages'], whole: true, faults: [] })
  expect(await database.dump()).toBe(before)
})

test('check finds a tile of the log that was altered', async () => {
  const copy = await database.copy()
  await copy.execute(`update log_tile set hashes = 'AAAA' || substr(hashes, 5)`)
  const { code, stdout } = await shell.pubring(['check'], {
    env: { PUBRING_DATABASE_URL: copy.url },
  })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^BROKEN .*the log, log_tile 0\/0/m)
})

test('check has more time for a statement than a server', async () => {
  const copy = await database.copy()
  const other = new pg.Client(copy.url)
  await other.connect()
  await other.query('begin; lock table event in access exclusive mode')
  const env = { PUBRING_DATABASE_URL: `${copy.url}&statement_timeout=100` }
  const checking = shell.pubring(['check'], { env })
  const waiting =
    "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query_start < now() - interval '500 ms'"
  await waitUntil(async () => (await copy.query(waiting)).length > 0)
  await other.query('commit')
  await other.end()
  expect(await checking).toMatchObject({ code: 0, stdout: 'whole  the database\n' })
})
