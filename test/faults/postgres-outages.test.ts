import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { recordFault } from '../support/faults/results.ts'
import { createPostgres } from '../support/postgres/server.ts'
import {
  type CallResult,
  createKey,
  createProject,
  createReplicas,
  kidsOf,
} from '../support/server/replicas.ts'
import { expectWithin } from '../support/timing.ts'
import { waitUntil } from '../support/waiting.ts'

/** Every call completes within this many milliseconds in any state of the database. */
const maxCallMs = 15_000

let project: string
let projectCount = 0

const postgres = await createPostgres('max_connections = 60')
await postgres.start()
await postgres.query('create database pubring')
const replicas = createReplicas(postgres.url('pubring'))
const replica = await replicas.add()

beforeEach(async () => {
  projectCount += 1
  project = `p-${projectCount}`
  await createProject(replica, project)
})

/** A row about creates under a fault. `whileCreating` has found all acknowledged keys. */
function record(fault: string, observed: string, responses: CallResult[]): void {
  const acknowledged = responses.filter(({ status }) => status === 201).length
  const slowest = Math.max(...responses.map(({ ms }) => ms))
  recordFault({
    fault: `${fault} (PostgreSQL)`,
    observed: `${observed}; every create 201, or 503 within ${(slowest / 1_000).toFixed(1)} s`,
    acknowledged,
    lost: 0,
  })
}

/** Repeats the call from this many clients without pauses until stopped. */
function load(clients: number, call: () => Promise<CallResult>) {
  const responses: CallResult[] = []
  let stopped = false
  const running = Array.from({ length: clients }, async () => {
    while (!stopped) {
      responses.push(await call())
      await delay(5)
    }
  })
  return async () => {
    stopped = true
    await Promise.all(running)
    return responses
  }
}

/** Runs the fault during creates; checks that each acknowledged key exists exactly once. */
async function whileCreating(fault: () => Promise<void>): Promise<CallResult[]> {
  const stop = load(8, () => createKey(replica, project))
  await delay(300)
  await fault()
  await waitUntilWorking()
  await delay(300)
  const responses = await stop()
  for (const { status, body, ms } of responses) {
    expect([201, 503], body).toContain(status)
    expectWithin(maxCallMs, ms)
  }
  const kids = await kidsOf(replica, project)
  const acknowledged = responses.filter(({ status }) => status === 201)
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(kids).toEqual(expect.arrayContaining(acknowledged.map(({ body }) => JSON.parse(body).kid)))
  expect(new Set(kids).size).toBe(kids.length)
  return responses
}

/** Resolves when reads and writes succeed again, which takes seconds. */
async function waitUntilWorking(): Promise<void> {
  const deadline = performance.now() + maxCallMs
  for (;;) {
    const read = await replica.call('GET', `/v1/projects/${project}/jwt-keys`)
    const written = await createKey(replica, project)
    if (read.status === 200 && written.status === 201) return
    expectWithin(deadline, performance.now())
    await delay(50)
  }
}

test.each(['SIGINT', 'SIGQUIT'] as const)(
  'a restart of the database (%s) fails only calls in flight',
  async (signal) => {
    const responses = await whileCreating(async () => {
      await postgres.stop(signal)
      await waitUntil(
        async () => !(await replica.call('GET', '/health/ready')).body.includes('fresh'),
      )
      await postgres.start()
    })
    record('Database restarted', 'creates wait or get 503', responses)
  },
)

test('all sessions terminated, while idle and while writing: the same process continues', async () => {
  const terminate = () =>
    postgres.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'pubring'",
    )
  await delay(100)
  await terminate()
  await delay(100)
  expect((await createKey(replica, project)).status).toBe(201)
  const responses = await whileCreating(async () => {
    for (let times = 0; times < 5; times += 1) {
      await terminate()
      await delay(100)
    }
  })
  record('All sessions ended', 'the same process continues', responses)
})

/** Reads and changes again and again, and looks at the key set and the health pages. */
async function callsDuring(milliseconds: number): Promise<CallResult[]> {
  const all: CallResult[] = []
  const until = performance.now() + milliseconds
  while (performance.now() < until) {
    const [served, live, ready, ...calls] = await Promise.all([
      replica.call('GET', `/v1/projects/${project}/.well-known/jwks.json`),
      replica.call('GET', '/health/live'),
      replica.call('GET', '/health/ready'),
      ...Array.from({ length: 100 }, () => replica.call('GET', `/v1/projects/${project}/jwt-keys`)),
      ...Array.from({ length: 10 }, () => createKey(replica, project)),
    ])
    expect([served.status, live.status, ready.status]).toEqual([200, 200, 200])
    for (const [call, limitMs] of [
      [served, 2_000],
      [live, 1_000],
      [ready, 5_000],
    ] as const)
      expectWithin(limitMs, call.ms)
    for (const { status, ms } of calls) {
      expect(status).toBe(503)
      expectWithin(maxCallMs, ms)
    }
    all.push(...calls)
    await delay(200)
  }
  return all
}

/** Everything works again, over no more connections than the pool may have. */
async function expectFullSpeed(): Promise<void> {
  await waitUntilWorking()
  const reads = Array.from({ length: 100 }, () =>
    replica.call('GET', `/v1/projects/${project}/jwt-keys`),
  )
  for (const { status, ms } of await Promise.all(reads)) {
    expect(status).toBe(200)
    expectWithin(2_000, ms)
  }
  expect(await countSessions()).toBeLessThanOrEqual(10)
}

async function countSessions(): Promise<number> {
  const sessions = "select pid from pg_stat_activity where application_name = 'pubring'"
  return (await postgres.query(sessions)).length
}

/** How long the database is away, in milliseconds. */
const outageMs = 30_000

test('a database frozen for half a minute: every call completes, key sets come from memory, and all recovers afterwards', async () => {
  await createKey(replica, project)
  await replica.call('GET', `/v1/projects/${project}/.well-known/jwks.json`)
  const responses = await whileCreating(async () => {
    postgres.signal('SIGSTOP')
    await delay(100)
    await callsDuring(outageMs)
    const stale = { status: 'ok', state: 'stale' }
    expect(JSON.parse((await replica.call('GET', '/health/ready')).body)).toMatchObject(stale)
    expect((await replica.call('GET', '/health/write')).status).toBe(503)
    postgres.signal('SIGCONT')
  })
  await expectFullSpeed()
  record(
    'Database frozen',
    'key sets 200 from memory; readiness 200 and stale, /health/write 503',
    responses,
  )
})

test('a database that is read-only for a while: reads succeed, writes are 503 and succeed afterwards', async () => {
  const readOnly = async (state: 'on' | 'off') => {
    await postgres.query(`alter system set default_transaction_read_only = ${state}`)
    await postgres.query('select pg_reload_conf()')
    await delay(300)
  }
  await createKey(replica, project)
  await readOnly('on')
  try {
    for (let times = 0; times < 3; times += 1) {
      const rejected = await createKey(replica, project)
      expect(rejected.status).toBe(503)
      expect(JSON.parse(rejected.body).code).toBe('storage_unavailable')
      await delay(200)
      expect((await replica.call('GET', `/v1/projects/${project}/jwt-keys`)).status).toBe(200)
    }
    expect(await kidsOf(replica, project)).toHaveLength(1)
  } finally {
    await readOnly('off')
  }
  await waitUntilWorking()
  recordFault({
    fault: 'Database read-only for a while (PostgreSQL)',
    observed: 'changes 503, reads 200; changes 201 as soon as it takes them again',
    acknowledged: 1,
    lost: 0,
  })
})

test('tables locked by another session for half a minute: each call is 503 in time, and full speed returns after the release', async () => {
  await createKey(replica, project)
  await replica.call('GET', `/v1/projects/${project}/.well-known/jwks.json`)
  const client = new pg.Client(postgres.url('pubring'))
  await client.connect()
  await client.query('begin; lock table jwt_key, ledger, api_key in access exclusive mode')
  await delay(100)
  const calls = await callsDuring(outageMs)
  expect(await countSessions()).toBeLessThan(20)
  await client.end()
  await expectFullSpeed()
  recordFault({
    fault: 'Tables locked by another session (PostgreSQL)',
    observed: `lists and creates 503 within ${(Math.max(...calls.map(({ ms }) => ms)) / 1_000).toFixed(1)} s, liveness 200 within 1 s; all 200 after the release`,
    acknowledged: 0,
    lost: 0,
  })
})
