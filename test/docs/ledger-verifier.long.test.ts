import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLogSigner } from '../../packages/cli/src/server/log-key.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { importItems, sendImport } from '../support/app/imports.ts'
import { createKeyFile } from '../support/log/key-file.ts'
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
  const script = join(root, 'examples/ledger/verify.py')
  const address = log === undefined ? [] : [`${await addressOf(log)}/log`]
  const args = [script, export_.events, export_.proof, verifierKey, ...address]
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
  for (const log of [undefined, server]) {
    expect(await verify(exported, log)).toBe(`whole   ${id}  revision 51  ${hash}\n`)
  }
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
  expect(await verify(exported, server)).toMatch(/^whole /)
})

/** A registry of an operator who has the key of the log, and forgets what it has signed. */
async function startForgetful(name: string): Promise<TestApp> {
  const place = join(folder, name)
  mkdirSync(place)
  const logKeyFile = join(place, 'log.key')
  copyFileSync(key.file, logKeyFile)
  const settings = { databaseUrl: 'postgres://unused', logKeyFile }
  const logSigner = openLogSigner(settings, { create: false })
  return startApp({ ...(logSigner && { logSigner }) })
}

test('a history that was rewritten and signed with the real key is found', async () => {
  const rewritten = await startForgetful('rewriter')
  for (const [index, each] of ids.entries()) {
    await createProject(rewritten, `project-${index}`, each)
    await sign(rewritten)
  }
  expect((await rewritten.inject('/log/vkey')).body.trim()).toBe(verifierKey)
  const fresh = await exportLedger(rewritten, id, 'rewritten')
  expect(await verify(fresh, rewritten)).toMatch(/^whole /)
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
