import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { faultInjection } from '../support/faults/injection.ts'
import { countLost, recordFault } from '../support/faults/results.ts'
import { createServerClient, freshPem, highLimits, problemCode } from '../support/server/client.ts'
import { stopServer } from '../support/server/command.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'
import { waitLimitMs, waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()
const file = join(folder, 'data/pubring.db')
const acknowledged: string[] = []

mkdirSync(join(folder, 'data'))
const injection = faultInjection(folder)
const server = await startServer(folder, { ...highLimits, ...injection.env }, injection.launch)
const client = createServerClient(server, server.apiKey)

afterAll(() => stopServer(server))

const readiness = async () => JSON.parse((await client.health('ready'))?.text ?? '{}')

type MaybePromise<Value> = Value | Promise<Value>

const awayMessage =
  'the database cannot be read: key sets are served from memory, everything else gets 503'
/** Lines about the database since `from`, without their times. */
const faultLines = (from: number) =>
  server
    .output()
    .slice(from)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level >= 50)
    .map(({ msg, cause }) => `${msg}: ${cause}`)

/** The status of a list, the key set, a change and the health pages. */
async function expectAway(): Promise<void> {
  await waitUntil(async () => (await readiness()).state === 'stale')
  expect((await client.health('live'))?.status).toBe(200)
  expect((await client.health('write'))?.status).toBe(503)
  const jwks = await waitUntil(async () => {
    const served = await client.jwks()
    expect(served?.status).toBe(200)
    return served?.headers.has('age') && served
  })
  expect(jwks?.headers.get('cache-control')).toBe('public, max-age=0')
  for (const kid of acknowledged) expect(jwks?.text).toContain(kid)
  const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
  const keys = '/v1/projects/default/jwt-keys'
  for (const response of [await client.send('GET', keys), await client.send('POST', keys, body)]) {
    expect(response?.status).toBe(503)
    expect(problemCode(response)).toBe('storage_unavailable')
  }
}

async function expectBack(): Promise<void> {
  await waitUntil(async () => (await readiness()).state === 'fresh')
  await waitUntil(async () => (await client.health('write'))?.status === 200)
  expect(countLost(acknowledged, await client.kids())).toBe(0)
  acknowledged.push(String(await client.create()))
  expect(await client.kids()).toEqual(acknowledged)
}

/** Writes other content into the file. */
const overwrite = (contentOf: (size: number) => Buffer) => () => {
  const content = readFileSync(file)
  writeFileSync(file, contentOf(content.length))
  return () => writeFileSync(file, content)
}

/** Moves the file away, and makes something else in its place. */
const replace = (make: (moved: string) => void) => () => {
  const moved = `${file}.away`
  renameSync(file, moved)
  make(moved)
  return () => {
    rmSync(file, { force: true })
    renameSync(moved, file)
  }
}

/** Faults of the database, each of which returns how to undo it. */
const faults: [string, () => MaybePromise<() => MaybePromise<void>>][] = [
  ['Database file overwritten with garbage', overwrite((size) => Buffer.alloc(size, 0x55))],
  ['emptied', overwrite(() => Buffer.alloc(0))],
  ['gone', replace(() => {})],
  ['another in its place', replace((moved) => copyFileSync(moved, file))],
  [
    'input/output errors',
    async () => {
      await injection.set({ eio: true })
      return () => injection.set({})
    },
  ],
  ['a link to itself in its place', replace(() => symlinkSync(file, file))],
  [
    'a table dropped',
    () => {
      const other = new DatabaseSync(file, { timeout: waitLimitMs })
      other.exec('ALTER TABLE jwt_key RENAME TO gone')
      return () => {
        other.exec('ALTER TABLE gone RENAME TO jwt_key')
        other.close()
      }
    },
  ],
]

test.each(faults)(
  '%s: ready but stale, key sets are served, and everything recovers without a restart',
  async (_fault, begin) => {
    acknowledged.push(String(await client.create()))
    await waitUntil(async () => (await client.jwks())?.text.includes(acknowledged.at(-1) ?? ''))
    const start = server.output().length
    const undo = await begin()
    await expectAway()
    const lines = faultLines(start)
    expect(lines.filter((line) => line.startsWith(awayMessage)).length).toBeLessThanOrEqual(1)
    expect(lines).toEqual([...new Set(lines)])
    await undo()
    await expectBack()
    recordFault({
      fault: faults.map(([name]) => name).join('; '),
      observed: 'key sets from memory, all else 503; all 200 again without a restart',
      acknowledged: acknowledged.length,
      lost: countLost(acknowledged, await client.kids()),
    })
  },
)

test('a failing ledger write leaves neither the change nor a revision', async () => {
  const revision = async () =>
    JSON.parse((await client.send('GET', '/v1/projects/default'))?.text ?? '').revision
  const before = { revision: await revision(), kids: await client.kids() }
  const other = new DatabaseSync(file, { timeout: waitLimitMs })
  other.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no ledger today'); END",
  )
  const keys = '/v1/projects/default/jwt-keys'
  const body = { name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }
  const [kid] = before.kids
  const responses = [
    await client.send('POST', keys, body),
    await client.send('PATCH', `${keys}/${kid}`, { active: false }),
    await client.send('POST', '/v1/projects', { name: 'unwritten' }),
  ]
  for (const response of responses) {
    expect(response?.status).toBe(500)
    expect(response?.text).not.toContain('no ledger today')
  }
  other.exec('DROP TRIGGER refuse')
  other.close()
  expect({ revision: await revision(), kids: await client.kids() }).toEqual(before)
  expect((await client.send('GET', '/v1/projects/unwritten'))?.status).toBe(404)
  expect((await client.jwks())?.text).toContain(kid)
  acknowledged.push(String(await client.create()))
  expect(await revision()).toBe(before.revision + 1)
  recordFault({
    fault: 'A ledger write that fails',
    observed: 'the changes 500; no key, project, revision or event of them exists',
    acknowledged: acknowledged.length,
    lost: countLost(acknowledged, await client.kids()),
  })
})
