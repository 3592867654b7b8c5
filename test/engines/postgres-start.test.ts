import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { toReadError } from '../../packages/server/src/kernel/storage/errors.ts'
import { parsePostgresAddress } from '../../packages/server/src/kernel/storage/postgres/address.ts'
import { openDatabase } from '../../packages/server/src/kernel/storage/postgres/database.ts'
import { prepareInBackground } from '../../packages/server/src/kernel/storage/postgres/startup.ts'
import { openServerStore } from '../../packages/server/src/registry.ts'
import { endLater } from '../support/ending.ts'
import { recordFault } from '../support/faults/results.ts'
import { createPostgres } from '../support/postgres/server.ts'
import {
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'
import {
  createBlankDatabase,
  createDatabase,
  type TestDatabase,
} from '../support/store/database.ts'
import { expectWithin } from '../support/timing.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()

const postgres = await createPostgres()
await postgres.start()
await postgres.query("create role keeper login password 'geheim'")
await postgres.query('create database latin encoding latin1 template template0')
const access = 'host all keeper 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n'
postgres.writeHba(access)
await postgres.query('select pg_reload_conf()')

/** Why the database at the URL cannot be used, now or later: one line, without the password. */
async function refusal(url: string): Promise<string> {
  const opening = openServerStore(url).then(async ({ store, prepared }) => {
    endLater(() => store.close())
    await prepared
  })
  const { message }: Error = await opening.then(
    () => expect.fail('it can be used'),
    (error) => error,
  )
  expect(message.trim().split('\n')).toHaveLength(1)
  expect(message).not.toContain('geheim')
  return message
}

function linesOf(server: ServerProcess): { level: number; msg: string; cause?: string }[] {
  const lines = server.output().split('\n')
  return lines.filter((line) => /^\{.*\}$/.test(line)).map((line) => JSON.parse(line))
}

test.each([
  ['the encoding cannot hold every name', 'postgres@', 'latin', /must have the encoding UTF8/],
  ['the user cannot create tables', 'keeper:geheim@', 'postgres', /denies its user a privilege/],
  ['the address is invalid', 'postgres:geheim@', 'postgres?sslmode=yes', /The address of the/],
])(
  'the server cannot start, for a reason of one line without the password, if %s',
  async (_name, user, database, message) => {
    const url = `postgres://${user}127.0.0.1:${postgres.port}/${database}`
    expect(await refusal(url)).toMatch(message)
  },
)

test('a server that cannot start prints that line besides its log, and exits', async () => {
  const url = `postgres://keeper:geheim2@127.0.0.1:${postgres.port}/postgres`
  const server = await spawnServer(folder, { PUBRING_DATABASE_URL: url })
  expect(await server.ended).toBe(70)
  const lines = server.output().trim().split('\n')
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([
    expect.stringMatching(/^pubring: .*:\d+ rejects this user or password/),
  ])
  expect(server.output()).not.toContain('geheim')
})

test('a server whose database is read-only says so in its log', async () => {
  await postgres.query('create database frozen')
  await postgres.query('alter database frozen set default_transaction_read_only = on')
  const server = await spawnServer(folder, { PUBRING_DATABASE_URL: postgres.url('frozen') })
  const logged = await waitUntil(() =>
    linesOf(server).find(({ cause }) => /is read-only/.test(String(cause))),
  )
  expect(logged?.msg).toMatch(/the database is not ready/)
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
})

test('a server that has lost its database while it started gives that as its cause until it is reached again', async () => {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const isTriedAgain = Promise.withResolvers<void>()
  const causes: unknown[] = []
  const reads = [
    () => Promise.reject(toReadError(lost)),
    () => {
      isTriedAgain.resolve()
      return new Promise<never>(() => {})
    },
  ]
  const raw = openDatabase(parsePostgresAddress(postgres.url('postgres')), 'primary')
  const cause = () =>
    database.read({ sql: 'select 1', parameters: [] }).catch((error: Error) => error.cause)
  const serverInfo = async () => {
    const info = await raw.serverInfo()
    causes.push(await cause())
    return info
  }
  const read = () => reads.shift()?.() ?? expect.fail('a third attempt')
  const { database } = prepareInBackground({ ...raw, serverInfo, read }, async (tried) => {
    await tried.read({ sql: 'select 1', parameters: [] })
  })
  endLater(() => database.close())
  await isTriedAgain.promise
  expect(causes).toEqual([undefined, expect.stringContaining('ECONNRESET')])
  expect(await cause()).toBeUndefined()
})

test('a server that starts during an outage waits for the database, without migrating or writing', async () => {
  await postgres.query('create database later')
  await postgres.stop()
  const url = postgres.url('later').replace(/(?=\/later)/, ',nowhere.invalid')
  const env = { PUBRING_DATABASE_URL: url }
  const server = await spawnServer(folder, env)
  await waitUntil(() => fetch(`${server.url}/health/live`).catch(() => undefined))
  const unavailable = async (path: string) => {
    const response = await fetch(server.url + path)
    expect(response.status).toBe(503)
    return response.text()
  }
  const until = performance.now() + 600
  while (performance.now() < until) {
    const starting = '{"status":"unavailable","reason":"starting"}'
    expect(await unavailable('/health/ready')).toBe(starting)
    expect(await unavailable('/health/write')).toBe(starting)
    const jwks = await unavailable('/v1/projects/default/.well-known/jwks.json')
    expect(JSON.parse(jwks).code).toBe('storage_unavailable')
    await unavailable('/v1/projects')
    await unavailable('/openapi.json')
    await delay(100)
  }
  const logged = await waitUntil(() => linesOf(server).find(({ level }) => level === 50))
  expect(logged).toMatchObject({
    msg: 'the database is not ready: until it is, everything but /health/live gets 503',
    cause: expect.stringMatching(
      `^127.0.0.1:${postgres.port} takes no connections \\(connect ECONNREFUSED .*; nowhere.invalid:5432 .*getaddrinfo E`,
    ),
  })
  expect(linesOf(server).filter(({ level }) => level > 30)).toHaveLength(1)
  expect(server.output()).not.toContain('PUBRING_API_KEY')
  await postgres.start()
  await whenReady(server)
  expect(server.output()).toContain('PUBRING_API_KEY')
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)

  await postgres.stop()
  const waiting = await spawnServer(folder, { PUBRING_DATABASE_URL: url })
  await waitUntil(() => fetch(`${waiting.url}/health/live`).catch(() => undefined))
  waiting.signal('SIGTERM')
  expect(await waiting.ended).toBe(0)
  recordFault({
    fault: 'Start during an outage of the database (PostgreSQL)',
    observed:
      'live but not ready (“starting”), everything else 503, each host in the log with its cause; ready once the database is there',
    acknowledged: 0,
    lost: 0,
  })
})

test('tables of other applications in other schemas are ignored', async () => {
  const database: TestDatabase = await createBlankDatabase('postgres')
  await database.query('create schema other')
  await database.query('create table other.kysely_migration (name text)')
  await database.query("insert into other.kysely_migration values ('0001-theirs')")
  const server = await startServer(folder, { PUBRING_DATABASE_URL: database.url })
  expect(linesOf(server).filter(({ level }) => level > 30)).toEqual([])
})

test('while the server runs, a missing table or database makes it unready within 10 s, without details', async () => {
  const database = await createDatabase('postgres')
  const server = await startServer(folder, { PUBRING_DATABASE_URL: database.url })
  const health = async (kind: string) => {
    const response = await fetch(`${server.url}/health/${kind}`)
    return `${response.status} ${await response.text()}`
  }
  await database.query('alter table event rename to gone')
  expect(await health('ready')).toBe('503 {"status":"unavailable","reason":"storage"}')
  await database.query('alter table gone rename to event')
  expect(await health('ready')).toMatch(/^200/)
  const fault = await database.destroy()
  const began = performance.now()
  expect(await health('ready')).toBe('503 {"status":"unavailable","reason":"storage"}')
  expectWithin(10_000, performance.now() - began)
  expect(await health('live')).toBe('200 {"status":"ok"}')
  await fault.restore()
})
