import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { createPostgres, type PostgresServer } from '../support/postgres/server.ts'
import { spawnServer, temporaryFolder, whenReady } from '../support/server/process.ts'
import {
  createKey,
  createProject,
  createReplicas,
  kidsOf,
  publishedKids,
  type Replica,
} from '../support/server/replicas.ts'
import { createBlankDatabase, createDatabase } from '../support/store/database.ts'
import { expectWithin } from '../support/timing.ts'
import { waitUntil } from '../support/waiting.ts'

test('three replicas that start at once on an empty database create one schema, one first project and one admin API key, which is printed once', async () => {
  const database = await createBlankDatabase('postgres')
  const { folder } = temporaryFolder()
  const env = { PUBRING_DATABASE_URL: database.url }
  const servers = await Promise.all([1, 2, 3].map(() => spawnServer(folder, env)))
  await Promise.all(servers.map(whenReady))
  await delay(300)
  const printed = servers.flatMap((server) => server.output().match(/pubring_\w{49}/g) ?? [])
  expect(printed).toHaveLength(1)
  const headers = { 'X-Api-Key': printed[0] ?? '' }
  for (const { url } of servers) {
    const projects = await (await fetch(`${url}/v1/projects`, { headers })).json()
    expect(projects).toMatchObject([{ name: 'default', revision: 1 }])
  }
  expect(await database.query('select name from kysely_migration')).not.toHaveLength(0)
  expect(await database.query('select id from api_key')).toHaveLength(1)
  const system = await database.query("select type from event where subject_type = 'api_key'")
  expect(system).toHaveLength(1)
})

describe('two replicas', () => {
  let postgres: PostgresServer
  let one: Replica
  let other: Replica
  beforeAll(async () => {
    postgres = await createPostgres()
    await postgres.start()
    await postgres.query('create database pubring')
    const replicas = createReplicas(postgres.url('pubring'))
    one = await replicas.add()
    other = await replicas.add()
  })

  /** Registers a key and deactivates it; returns how long the other replica still published it. */
  async function revoke(project: string): Promise<number> {
    const { kid } = JSON.parse((await createKey(one, project)).body)
    while (!(await publishedKids(other, project)).includes(kid)) await delay(10)
    const path = `/v1/projects/${project}/jwt-keys/${kid}`
    const response = await one.call('PATCH', path, { active: false })
    expect(response.status, response.body).toBe(200)
    const began = performance.now()
    // Authenticated reads see it immediately on every replica.
    expect(JSON.parse((await other.call('GET', path)).body).active).toBe(false)
    while ((await publishedKids(other, project)).includes(kid)) await delay(10)
    return performance.now() - began
  }

  test('a key deactivated on one leaves the key set of the other within a second, 100 of 100 times', async () => {
    const projects = Array.from({ length: 20 }, (_, index) => `r-${index}`)
    for (const project of projects) await createProject(one, project)
    const times: number[] = []
    for (let round = 0; round < 5; round += 1) {
      times.push(...(await Promise.all(projects.map(revoke))))
    }
    expect(times).toHaveLength(100)
    expectWithin(1_000, Math.max(...times))
  })

  test('also right after a restart of the database', async () => {
    await createProject(one, 'restarted')
    await postgres.stop()
    await postgres.start()
    const ready = async (replica: Replica) => {
      while (!(await replica.call('GET', '/health/ready')).body.includes('fresh')) await delay(20)
    }
    await Promise.all([ready(one), ready(other)])
    for (let round = 0; round < 5; round += 1) {
      expectWithin(1_000, await revoke('restarted'))
    }
  })
})

test.each(['cut', 'block'] as const)(
  'a replica that is cut off from the database (%s) serves its key sets up to the limit, 503 for everything else, and recovers by itself',
  async (how) => {
    const database = await createDatabase('postgres')
    // Without the time limits of the test databases: the defaults decide when it answers 503.
    const url = new URL(database.url)
    url.search = ''
    const proxy = await startTcpProxy(Number(url.port))
    url.port = String(proxy.port)
    const replica = await createReplicas(url.href).add({ PUBRING_JWKS_STALE_LIMIT: '4s' })
    const kid = JSON.parse((await createKey(replica, 'default')).body).kid
    const jwks = '/v1/projects/default/.well-known/jwks.json'
    expect(await publishedKids(replica, 'default')).toEqual([kid])

    proxy[how]()
    const away = performance.now()
    while (performance.now() - away < 2_500) {
      const served = await replica.call('GET', jwks)
      expect(served.status).toBe(200)
      expectWithin(2_000, served.ms)
      const refused = await replica.call('GET', '/v1/projects/default/jwt-keys')
      expect(refused.status).toBe(503)
      expectWithin(15_000, refused.ms)
      expect((await replica.call('GET', '/health/live')).status).toBe(200)
      await delay(100)
    }
    const outdated = async () => {
      const { status, body } = await replica.call('GET', jwks)
      return status !== 200 && [status, JSON.parse(body).code]
    }
    expect(await waitUntil(outdated)).toEqual([503, 'storage_unavailable'])
    expectWithin(5_500, performance.now() - away)
    expect((await replica.call('GET', '/health/ready')).status).toBe(503)

    proxy.restore()
    const back = performance.now()
    while (!(await replica.call('GET', '/health/ready')).body.includes('fresh')) await delay(50)
    expectWithin(5_000, performance.now() - back)
    expect(await kidsOf(replica, 'default')).toEqual([kid])
    expect(await publishedKids(replica, 'default')).toEqual([kid])
    expect((await createKey(replica, 'default')).status).toBe(201)
  },
)
