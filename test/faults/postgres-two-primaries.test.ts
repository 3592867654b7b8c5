import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordFault } from '../support/faults/results.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { createPostgres, type PostgresServer } from '../support/postgres/server.ts'
import { addSynchronousStandby, primarySettings } from '../support/postgres/standby.ts'
import { createKey, createProject, createReplicas } from '../support/server/replicas.ts'
import { expectWithin } from '../support/timing.ts'
import { waitUntil } from '../support/waiting.ts'

const old = await createPostgres(primarySettings)
await old.start()
await old.query('create database pubring')
const promoted = await addSynchronousStandby(old)
const hosts = `127.0.0.1:${old.port},127.0.0.1:${promoted.port}`
const replicas = createReplicas(`postgres://postgres@${hosts}/pubring`)

test('the primary freezes, a standby is promoted, and the old primary thaws: every replica writes to the new one, and none to the old', async () => {
  const [busy, idle] = [await replicas.add(), await replicas.add()]
  await createProject(busy, 'p')
  expect((await createKey(idle, 'p')).status).toBe(201)
  // From now on the old primary commits without its standby, so that nothing but us keeps writes off it.
  await old.query("alter system set synchronous_standby_names = ''")
  await old.query('select pg_reload_conf()')
  const countKeys = async (server: PostgresServer) =>
    Number((await server.query('select count(*) as count from jwt_key', 'pubring'))[0]?.count)
  const before = await countKeys(old)

  old.signal('SIGSTOP')
  const froze = performance.now()
  await promoted.query('select pg_promote(true)')
  while ((await createKey(busy, 'p')).status !== 201) await delay(50)
  const switched = performance.now() - froze
  expectWithin(15_000, switched)
  // The idle replica has noticed that its primary is gone, and found the other one.
  await waitUntil(async () => (await idle.call('GET', '/health/ready')).body.includes('fresh'))
  old.signal('SIGCONT')

  for (const replica of [idle, busy, idle, busy]) {
    expect((await createKey(replica, 'p')).status).toBe(201)
  }
  // The new primary answers later than the old one, as on a busy machine.
  const slow = await startTcpProxy(promoted.port)
  slow.delay(150)
  const all = `127.0.0.1:${old.port},127.0.0.1:${slow.port}`
  const started = await replicas.add({
    PUBRING_DATABASE_URL: `postgres://postgres@${all}/pubring`,
  })
  expect((await createKey(started, 'p')).status).toBe(201)
  expect(await countKeys(old)).toBe(before)
  expect(await countKeys(promoted)).toBe(before + 6)
  recordFault({
    fault: 'Two primaries (PostgreSQL)',
    observed: `writes on the new primary after ${(switched / 1_000).toFixed(1)} s; none on the old one, also of a replica that starts then`,
    acknowledged: 6,
    lost: 0,
  })
})
