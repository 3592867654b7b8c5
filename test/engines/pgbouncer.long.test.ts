import pg from 'pg'
import { expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { startInstalled } from '../support/installed-program.ts'
import { createPostgres } from '../support/postgres/server.ts'
import { freePort } from '../support/server/process.ts'
import { createBlankDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'
import { expectWithin } from '../support/timing.ts'
import { waitUntil } from '../support/waiting.ts'

const database = await createBlankDatabase('postgres')
const { port, pathname } = new URL(database.url)
const url = `postgres://postgres@${await startBouncer(port)}${pathname}`

/** Starts pgbouncer in front of a server, with further settings. Returns its host and port. */
async function startBouncer(serverPort: string | number, settings = ''): Promise<string> {
  const ownPort = await freePort()
  const host = `127.0.0.1:${ownPort}`
  const files = {
    'users.txt': '"postgres" ""\n',
    'pgbouncer.ini': `[databases]
* = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = trust
auth_file = users.txt
pool_mode = transaction
default_pool_size = 2
max_client_conn = 12
ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout
${settings}
`,
  }
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const isAnswering = async () => {
    const client = new pg.Client(`postgres://postgres@${host}/postgres`)
    await client.connect()
    await client.end()
    return true
  }
  await startInstalled('pgbouncer', [...user, 'pgbouncer.ini'], files, isAnswering)
  return host
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

test('with server_login_retry = 1, changes succeed within seconds of a restart of PostgreSQL', async () => {
  const postgres = await createPostgres()
  await postgres.start()
  const host = await startBouncer(postgres.port, 'server_login_retry = 1')
  const store = await openStore(`postgres://postgres@${host}/postgres`)
  const attempt = () =>
    createProject(store, `p-${newId().slice(-12)}`).then(
      () => true,
      () => false,
    )
  expect(await attempt()).toBe(true)
  await postgres.stop()
  // So that pgbouncer fails to log in while the server is away.
  for (let failed = 0; failed < 3; failed += 1) expect(await attempt()).toBe(false)
  await postgres.start()
  const began = performance.now()
  await waitUntil(attempt)
  expectWithin(5_000, performance.now() - began)
  await store.close()
})
