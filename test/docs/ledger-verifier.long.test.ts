import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLogSigner } from '../../packages/cli/src/server/log-key.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { testClock } from '../support/app/clock.ts'
import { importItems, sendImport } from '../support/app/imports.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { createLiar, foreignKey } from '../support/log/liar.ts'
import { temporaryFolder } from '../support/server/process.ts'

/*
 * examples/ledger/verify.py, which knows of Pubring what docs/ledger.md says, finds what an operator
 * changes in a registry of 5,000 keys: 100 projects, each with two entries in the log.
 */

const root = join(import.meta.dirname, '../..')
const { folder } = temporaryFolder()
const key = createKeyFile()
const server = await startApp({ logSigner: key.open() })
const ids: string[] = []

async function createProject(to: TestApp, name: string, id?: string): Promise<string> {
  const created = await to.send('POST', '/v1/projects', { body: { name, ...(id && { id }) } })
  expect(created.statusCode, created.body).toBe(201)
  expect((await sendImport(to, importItems(50), { project: name })).statusCode).toBe(200)
  return created.json().id
}

async function sign(to: TestApp): Promise<number> {
  const signed = await to.send('POST', '/v1/log/checkpoints')
  expect(signed.statusCode, signed.body).toBe(201)
  return signed.json().size
}

/** The files that `pubring ledger export` writes. */
async function exportLedger(from: TestApp, id: string, name: string) {
  const events = (await from.send('GET', `/v1/projects/${id}/events?limit=200`)).json()
  const lines = events.map((event: object) => `${JSON.stringify({ ledgerId: id, ...event })}\n`)
  const { proof } = (await from.send('GET', `/v1/projects/${id}/ledger-proof`)).json()
  const files = [join(folder, `${name}.jsonl`), join(folder, `${name}.tlog-proof`)] as const
  writeFileSync(files[0], lines.join(''))
  writeFileSync(files[1], proof)
  return { events: files[0], proof: files[1] }
}

async function verify(export_: { events: string; proof: string }, log?: TestApp): Promise<string> {
  return verifyAt(export_, ...(log === undefined ? [] : [`${await addressOf(log)}/log`]))
}

function verifyAt(export_: { events: string; proof: string }, ...log: string[]): Promise<string> {
  const script = join(root, 'examples/ledger/verify.py')
  const args = [script, export_.events, export_.proof, verifierKey, ...log]
  const { promise, resolve } = Promise.withResolvers<string>()
  execFile('python3', args, (_error, stdout, stderr) => resolve(stdout + stderr))
  return promise
}

const addresses = new Map<TestApp, Promise<string>>()
function addressOf(app: TestApp): Promise<string> {
  const address = addresses.get(app) ?? app.listen()
  addresses.set(app, address)
  return address
}

for (let index = 0; index < 100; index += 1) {
  ids.push(await createProject(server, `project-${index}`))
  await sign(server)
}
const verifierKey = (await server.inject('/log/vkey')).body.trim()
const [id = ''] = ids
const exported = await exportLedger(server, id, 'exported')

test('a ledger and a log that nobody has changed are whole', async () => {
  expect(await sign(server)).toBeGreaterThan(200)
  const { hash } = JSON.parse(readFileSync(exported.events, 'utf8').trim().split('\n').at(-1) ?? '')
  const whole = `whole   ${id}  revision 51  ${hash}\n`
  expect(await verify(exported)).toBe(whole)
  const proven = 'proven  50 of 50 keys, by the log at revision 51\n'
  expect(await verify(exported, server)).toBe(`${proven}${whole}`)
})

test('a key set that a server lies about is found', async () => {
  const keySet = `/v1/projects/${id}/.well-known/jwks-full.json`
  async function lied(lie: (liar: Awaited<ReturnType<typeof createLiar>>) => unknown) {
    const liar = await createLiar(await addressOf(server))
    await lie(liar)
    return verifyAt(exported, `${liar.url}/log`)
  }
  expect(await lied((liar) => liar.add(foreignKey.jwk))).toBe(
    'BROKEN  the key set has the key foreign, which the log does not have\n',
  )
  expect(await lied((liar) => liar.add(foreignKey.jwk, 7))).toContain('proven  50 of 51 keys')
  expect(await lied((liar) => liar.dropHeader('pubring-revision'))).toBe(
    'BROKEN  the key set has no revision\n',
  )
  const liar = await createLiar(await addressOf(server))
  await liar.freeze(keySet)
  const [key] = (await server.send('GET', `/v1/projects/${id}/jwt-keys`)).json()
  await server.send('PATCH', `/v1/projects/${id}/jwt-keys/${key.id}`, { body: { active: false } })
  await sign(server)
  expect(await verifyAt(exported, `${liar.url}/log`)).toBe(
    'BROKEN  the key set is older than the log\n',
  )
})

test.each([
  ['changed', (lines: string[]) => lines.with(20, String(lines[20]).replace('"key ', '"Key '))],
  ['removed', (lines: string[]) => lines.toSpliced(20, 1)],
  ['moved', (lines: string[]) => lines.with(20, lines[21] ?? '').with(21, lines[20] ?? '')],
])('an event that was %s is found', async (how, change) => {
  const events = join(folder, `${how}.jsonl`)
  const lines = readFileSync(exported.events, 'utf8').split('\n')
  writeFileSync(events, change(lines).join('\n'))
  expect(await verify({ ...exported, events })).toMatch(/^BROKEN {2}event 21 was altered/)
})

test('the last events of an export cannot be left out', async () => {
  const events = join(folder, 'short.jsonl')
  const lines = readFileSync(exported.events, 'utf8').split('\n')
  writeFileSync(events, `${lines.slice(0, 30).join('\n')}\n`)
  expect(await verify({ ...exported, events })).toMatch(/^BROKEN {2}the log has another history/)
})

test('an entry of the log that was changed is found', async () => {
  const { database } = server
  const at = 'where position = 77'
  const [row] = await database.query(`select content from log_entry ${at}`)
  const content = String(Object(row).content)
  const changed = content.replace(/(?<="time":"20)\d\d/, '19')
  await database.query(`update log_entry set content = ? ${at}`, changed)
  expect(await verify(exported, server)).toBe(
    'BROKEN  the entries of the log are not those of its checkpoint\n',
  )
  await database.query(`update log_entry set content = ? ${at}`, content)
  expect(await verify(exported, server)).toMatch(/^whole /m)
})

/** A registry of an operator who has the key of the log, and forgets what it has signed. */
async function startForgetful(name: string, clock = testClock()): Promise<TestApp> {
  const place = join(folder, name)
  mkdirSync(place)
  const logKeyFile = join(place, 'log.key')
  copyFileSync(key.file, logKeyFile)
  const settings = { databaseUrl: 'postgres://unused', logKeyFile }
  const logSigner = openLogSigner(settings, { create: false })
  return startApp({ clock, ...(logSigner && { logSigner }) })
}

test('a proof that was dated too long ago, as one that is sent again, is found', async () => {
  const clock = testClock()
  clock.advance(-125_000)
  const late = await startForgetful('late', clock)
  const own = await createProject(late, 'late')
  await sign(late)
  expect(await verify(await exportLedger(late, own, 'late'), late)).toBe(
    'BROKEN  the proof of the key set is older than two minutes\n',
  )
})

test('a history that was rewritten and signed with the real key is found', async () => {
  const rewritten = await startForgetful('rewriter')
  for (const [index, each] of ids.entries()) {
    await createProject(rewritten, `project-${index}`, each)
    await sign(rewritten)
  }
  expect((await rewritten.inject('/log/vkey')).body.trim()).toBe(verifierKey)
  const fresh = await exportLedger(rewritten, id, 'rewritten')
  expect(await verify(fresh, rewritten)).toMatch(/^whole /m)
  expect(await verify(exported, rewritten)).toBe(
    'BROKEN  the log has another event 51 of this ledger\n',
  )
  expect(await verify({ ...exported, events: fresh.events })).toBe(
    'BROKEN  the log has another history of this ledger\n',
  )
})

test('a tree without the ledger, signed with the real key, is found', async () => {
  const hiding = await startForgetful('hider')
  await createProject(hiding, 'other')
  await sign(hiding)
  expect(await verify(exported, hiding)).toBe(
    'BROKEN  the log does not extend the checkpoint of the proof\n',
  )
})

test('a log that has ended says where it goes on', async () => {
  key.replace()
  const next = await startApp({ database: server.database, logSigner: key.open() })
  expect((await next.send('POST', '/v1/log/restarts')).statusCode).toBe(201)
  expect(await verify(exported, next)).toMatch(
    /^BROKEN {2}This log ended at 20.*Z, after \d+ entries, .* It goes on at https:\/\/keys\.example\.com/,
  )
})
