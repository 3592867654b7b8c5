import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { freePort } from '../support/server/process.ts'
import { createBlankDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

/** pgbouncer must be installed (`apt-get install pgbouncer`). It refuses to run as root. */

const database = await createBlankDatabase('postgres')
const folder = mkdtempSync(join(tmpdir(), 'pubring-pgbouncer-'))
chmodSync(folder, 0o755)
const { port, pathname } = new URL(database.url)
const own = await freePort()
writeFileSync(join(folder, 'users.txt'), '"postgres" ""\n')
writeFileSync(
  join(folder, 'pgbouncer.ini'),
  `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users.txt
pool_mode = transaction
default_pool_size = 2
max_client_conn = 12
ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout
`,
)
const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
const bouncer = spawn('pgbouncer', [...user, join(folder, 'pgbouncer.ini')], {
  env: { PATH: `${process.env.PATH}:/usr/sbin` },
  stdio: 'ignore',
})
await Promise.race([once(bouncer, 'spawn'), once(bouncer, 'error')])
const url = `postgres://postgres@127.0.0.1:${own}${pathname}`
await waitUntil(() => connect().catch(() => undefined))

afterAll(async () => {
  bouncer.kill('SIGTERM')
  if (bouncer.exitCode === null) await once(bouncer, 'exit')
  rmSync(folder, { recursive: true })
})

async function connect(): Promise<true> {
  const client = new pg.Client(url)
  await client.connect()
  await client.end()
  return true
}

test('with two connections behind pgbouncer, the schema is created, and concurrent changes and reads of two replicas wait', async () => {
  // More clients than pgbouncer accepts.
  const stores = await Promise.all([openStore(url), openStore(`${url}?pool_size=8`)])
  const projects = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      createProject(stores[n % 2] ?? stores[0], `p-${newId().slice(-12)}`),
    ),
  )
  const keys = projects.map(({ id }) => keyRecord(id))
  await Promise.all(
    keys.map((key, n) =>
      stores[n % 2]?.commit(keyChanges.createKey, { origin: origin(), key, limits }),
    ),
  )
  const sets = await Promise.all(
    projects.map(({ id }, n) => {
      const other = stores[(n + 1) % 2]
      return other && keySetOf(other, id)
    }),
  )
  expect(sets.map((set) => set?.keys)).toEqual(keys.map((key) => [key]))
  for (const store of stores) await store.close()
})

test('behind pgbouncer no statement is prepared: its sessions are shared', async () => {
  const store = await openStore(url)
  const project = await createProject(store, `p-${newId().slice(-12)}`)
  await keySetOf(store, project.id)
  const client = new pg.Client(url)
  await client.connect()
  for (let session = 0; session < 4; session += 1) {
    const { rows } = await client.query('select name from pg_prepared_statements')
    expect(rows).toEqual([])
  }
  await client.end()
  await store.close()
})
