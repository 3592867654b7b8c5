import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createPostgres } from '../support/postgres/server.ts'
import { createKey, createReplicas, kidsOf } from '../support/server/replicas.ts'

/** Duration of the outage, and of the slowest call, in milliseconds. */
const outage = 30_000
const bound = 15_000

const keys = '/v1/projects/default/jwt-keys'
const jwks = '/v1/projects/default/.well-known/jwks.json'

const postgres = await createPostgres('max_connections = 60')
await postgres.start()
await postgres.query('create database pubring')
const replicas = createReplicas(postgres.url('pubring'))
const replica = await replicas.add()
await createKey(replica, 'default')

/** Repeats a hundred reads, ten creates and a key set while polling the health page. */
async function callsDuring(milliseconds: number): Promise<void> {
  const until = performance.now() + milliseconds
  while (performance.now() < until) {
    const [served, live, ready, ...calls] = await Promise.all([
      replica.call('GET', jwks),
      replica.call('GET', '/health/live'),
      replica.call('GET', '/health/ready'),
      ...Array.from({ length: 100 }, () => replica.call('GET', keys)),
      ...Array.from({ length: 10 }, () => createKey(replica, 'default')),
    ])
    expect([served.status, served.ms < 2_000]).toEqual([200, true])
    expect([live.status, live.ms < 2_000]).toEqual([200, true])
    expect([ready.status, ready.ms < 5_000]).toEqual([200, true])
    for (const { status, ms } of calls) expect([status, ms < bound]).toEqual([503, true])
    await delay(200)
  }
}

async function fullSpeed(): Promise<void> {
  const since = performance.now()
  while ((await createKey(replica, 'default')).status !== 201) {
    expect(performance.now() - since).toBeLessThan(bound)
    await delay(100)
  }
  const reads = Array.from({ length: 100 }, () => replica.call('GET', keys))
  for (const { status, ms } of await Promise.all(reads)) {
    expect([status, ms < 2_000]).toEqual([200, true])
  }
  const sessions = "select pid from pg_stat_activity where application_name = 'pubring'"
  expect((await postgres.query(sessions)).length).toBeLessThanOrEqual(10)
  const kids = await kidsOf(replica, 'default')
  expect(new Set(kids).size).toBe(kids.length)
}

test('a database frozen for half a minute', async () => {
  await replica.call('GET', jwks)
  postgres.signal('SIGSTOP')
  try {
    await delay(100)
    await callsDuring(outage)
  } finally {
    postgres.signal('SIGCONT')
  }
  await fullSpeed()
}, 180_000)

test('all tables locked for half a minute', async () => {
  const client = new pg.Client(postgres.url('pubring'))
  await client.connect()
  const tables = 'project, ledger, event, jwt_key, api_key'
  await client.query(`begin; lock table ${tables} in access exclusive mode`)
  await delay(100)
  await callsDuring(outage)
  await client.end()
  await fullSpeed()
}, 180_000)
