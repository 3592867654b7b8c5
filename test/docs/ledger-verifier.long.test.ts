import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLogSigner } from '../../packages/cli/src/server/log-key.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { testClock } from '../support/app/clock.ts'
import { importItems, sendImport } from '../support/app/imports.ts'
import { registerKey } from '../support/app/keys.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { createLiar, foreignKey } from '../support/log/liar.ts'
import { excuses, proveOldEntry } from '../support/log/old-proof.ts'
import { startHttpServer } from '../support/network/http-server.ts'
import { temporaryFolder } from '../support/server/process.ts'

/*
 * examples/ledger/verify.py, which knows of Pubring what docs/ledger.md says, finds what an operator
 * changes in a registry of 5,000 keys: 100 projects, each with two entries in the log.
 */

const root = join(import.meta.dirname, '../..')
const { folder } = temporaryFolder()
/** The program with a pause of 10 s instead of two intervals of the log. */
const script = join(folder, 'verify.py')
const program = readFileSync(join(root, 'examples/ledger/verify.py'), 'utf8')
writeFileSync(script, program.replace('wait=130', 'wait=10'))
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

interface Verification {
  events: string
  proof: string
  /** Done while the verifier waits for the log. */
  meanwhile?: () => unknown
}

async function verify(export_: Verification, log?: TestApp): Promise<string> {
  return verifyAt(export_, ...(log === undefined ? [] : [`${await addressOf(log)}/log`]))
}

function verifyAt({ events, proof, meanwhile }: Verification, ...log: string[]): Promise<string> {
  const args = [script, events, proof, verifierKey, ...log]
  const { promise, resolve } = Promise.withResolvers<string>()
  const child = execFile('python3', args, (_error, stdout, stderr) => resolve(stdout + stderr))
  child.stderr?.once('data', () => meanwhile?.())
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
const unreadable = 'BROKEN  a file or an answer cannot be read: '
const exported = await exportLedger(server, id, 'exported')

test('a ledger and a log that nobody has changed are whole', async () => {
  expect(await sign(server)).toBeGreaterThan(200)
  const { hash } = JSON.parse(readFileSync(exported.events, 'utf8').trim().split('\n').at(-1) ?? '')
  const whole = `whole   ${id}  revision 51  ${hash}\n`
  expect(await verify(exported)).toBe(whole)
  const proven = 'proven  50 keys, by the log at revision 51\n'
  expect(await verify(exported, server)).toBe(`${proven}${whole}`)
})

test('a key set that a server lies about is found', async () => {
  const keySet = `/v1/projects/${id}/.well-known/jwks-full.json`
  const proof = `/v1/projects/${id}/.well-known/ledger-proof`
  async function lied(lie: (liar: Awaited<ReturnType<typeof createLiar>>) => unknown) {
    const liar = await createLiar(await addressOf(server))
    await lie(liar)
    return verifyAt(exported, `${liar.url}/log`)
  }
  expect(await lied((liar) => liar.add(foreignKey.jwk))).toBe(
    'BROKEN  the key set has the key foreign, which the log does not have\n',
  )
  expect(await lied((liar) => liar.add(foreignKey.jwk, 7))).toMatch(
    /^The key set has .* asking again in 10 s\.\nBROKEN {2}the key set has the key foreign, which the log does not have\n/,
  )
  expect(await lied((liar) => liar.dropHeader('pubring-revision'))).toBe(
    'BROKEN  the key set has no revision\n',
  )
  const liar = await createLiar(await addressOf(server))
  const withholder = await createLiar(await addressOf(server))
  await liar.freeze(keySet)
  await withholder.freeze(keySet, proof)
  const address = await addressOf(server)
  const earlier = await (await fetch(address + proof)).text()
  const [key] = (await server.send('GET', `/v1/projects/${id}/jwt-keys`)).json()
  await server.send('PATCH', `/v1/projects/${id}/jwt-keys/${key.id}`, { body: { active: false } })
  await sign(server)
  expect(await verifyAt(exported, `${liar.url}/log`)).toBe(
    'BROKEN  the key set is older than the log\n',
  )
  expect(await verifyAt(exported, `${withholder.url}/log`)).toBe(
    'BROKEN  the key set is proven by event 51, and the log has event 52\n',
  )
  for (const excuse of excuses) {
    liar.forge(proof, () => proveOldEntry(address, proof, earlier, excuse))
    expect(await verifyAt(exported, `${liar.url}/log`)).toBe(
      'BROKEN  the proof does not show that event 51 is the last one in the log\n',
    )
  }
})

test('a key that the log does not have yet is asked for again, and then proven', async () => {
  const created = await server.send('POST', '/v1/projects', { body: { name: 'growing' } })
  const growing = created.json().id
  await sign(server)
  const ledger = await exportLedger(server, growing, 'growing')
  await registerKey(server, {}, `/v1/projects/${growing}/jwt-keys`)
  expect(await verify({ ...ledger, meanwhile: () => sign(server) }, server)).toMatch(
    /^proven {2}1 keys, .*\nwhole .*\nThe key set has .* asking again in 10 s\.\n$/,
  )
})

test.each<[string, (answer: { headers: Headers; body: Buffer }) => unknown, string]>([
  [
    'another hash of the event',
    ({ headers }) => headers.set('pubring-revision', '52.00000000'),
    'BROKEN  the key set is of another event than the log has\n',
  ],
  ['no hash at all', ({ headers }) => headers.set('pubring-revision', '52'), 'proven  49 keys, by'],
  ['no number', ({ headers }) => headers.set('pubring-revision', 'x'), unreadable],
  ['no key set', () => Buffer.from('[]'), unreadable],
  ['a type of key', () => Buffer.from('{"keys":[{"kty":"constructor"}]}'), unreadable],
  ['a text as status 404', () => 404, unreadable],
])('a server that answers with %s', async (_name, lie, verdict) => {
  const target = await addressOf(server)
  const liar = await startHttpServer(async ({ url = '' }, response) => {
    const got = await fetch(target + url)
    const answer = { headers: new Headers(got.headers), body: Buffer.from(await got.arrayBuffer()) }
    const lied = url.endsWith('/jwks-full.json') && lie(answer)
    for (const name of ['content-length', 'content-encoding', 'connection']) {
      answer.headers.delete(name)
    }
    response.setHeaders(answer.headers)
    if (lied === 404) return response.writeHead(404).end('none')
    return response.end(lied instanceof Buffer ? lied : answer.body)
  })
  expect(await verifyAt(exported, `${liar.url}/log`)).toContain(verdict)
})

test('a server that never answers, and a project that was deleted', async () => {
  const silent = await startHttpServer(() => {})
  expect(await verifyAt(exported, `${silent.url}/log`)).toContain(unreadable)
  const created = await server.send('POST', '/v1/projects', { body: { name: 'short-lived' } })
  const own = created.json().id
  expect((await server.send('DELETE', `/v1/projects/${own}`)).statusCode).toBe(204)
  await sign(server)
  const ledger = await exportLedger(server, own, 'deleted')
  expect(await verify(ledger, server)).toMatch(/^gone .*\nwhole /)
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
