import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient } from '../support/server/client.ts'
import { stopServer } from '../support/server/command.ts'
import { makeNextRelease } from '../support/server/next-release.ts'
import { spawnServer, startServer, temporaryFolder, whenReady } from '../support/server/process.ts'
import { createDatabase } from '../support/store/database.ts'

const { folder } = temporaryFolder()

test('two releases run side by side; the older one restarts on the newer schema, and stays after a rollback', async () => {
  const nextFolder = join(folder, 'next')
  mkdirSync(nextFolder)
  const program = makeNextRelease(nextFolder)
  const database = await createDatabase('postgres')
  const env = { PUBRING_DATABASE_URL: database.url }

  const old = await startServer(folder, env)
  const created = [await createServerClient(old, old.apiKey).create()]
  const next = await spawnServer(folder, env, { program })
  await whenReady(next)
  expect(await database.query('select note from jwt_key')).toEqual([{ note: null }])
  created.push(await createServerClient(old, old.apiKey).create())
  created.push(await createServerClient(next, old.apiKey).create())
  await stopServer(old)

  const restarted = await spawnServer(folder, env)
  await whenReady(restarted)
  const client = createServerClient(restarted, old.apiKey)
  created.push(await client.create())
  expect(await createServerClient(next, old.apiKey).kids()).toEqual(created)
  await stopServer(next)
  created.push(await client.create())
  const kids = await client.kids()
  expect(kids).toEqual(created)
  await stopServer(restarted)

  await database.execute(
    "update migration_release set oldest_release = '0.2.0' where name like '9999%'",
  )
  const refused = await spawnServer(folder, env)
  expect(await refused.ended).toBe(70)
  expect(refused.output()).toMatch(/^pubring: .* Start 0\.2\.0 or later, or restore a backup/m)
  await database.remove()
  recordFault({
    fault: 'Rolling upgrade and rollback (PostgreSQL)',
    action:
      'a release with one more migration starts beside this one; this one restarts on the newer schema; the newer one is stopped',
    observed: `every create 201, on both, before, during and after; beyond the recorded range the older release exits with one line that names the release needed`,
    acknowledged: created.length,
    lost: countLost(created.map(String), kids),
  })
})
