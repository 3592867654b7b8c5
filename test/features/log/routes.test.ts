import { hash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { type Bytes, toBase64 } from '../../../packages/client/src/log/encoding.ts'
import {
  createTileReader,
  formatTilePath,
  parseLedgerProof,
  parseVerifierKey,
  treeRoot,
  verifyCheckpoint,
  verifyLast,
  verifyLedgerProof,
  verifyPublication,
} from '../../../packages/client/src/log/index.ts'
import { logId } from '../../../packages/server/src/features/log/signing.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { startApp } from '../../support/app/app.ts'
import { registerKey } from '../../support/app/keys.ts'
import { createKeyFile } from '../../support/log/key-file.ts'

const key = createKeyFile()
let server = await startApp({ logSigner: key.open() })

const get = (path: string, headers: Record<string, string> = {}) =>
  server.inject({ method: 'GET', url: path, headers })

/** The address of the files of the tree. */
const treePath = () => `/log/${logId(key.open())}`

async function signNow(): Promise<{ origin: string; size: number; checkpoint: string }> {
  const response = await server.send('POST', '/v1/log/checkpoints')
  expect(response.statusCode, response.body).toBe(201)
  return response.json()
}

async function readFile(path: string): Promise<Bytes> {
  const response = await get(path)
  expect(response.statusCode, path).toBe(200)
  return Uint8Array.from(response.rawPayload)
}

const trusted = async () => ({
  log: await parseVerifierKey((await get('/log/vkey')).body.trim()),
})

test('before the first checkpoint there is no log', async () => {
  const proof = '/v1/projects/payments/ledger-proof'
  for (const path of ['/log/checkpoint', '/log/vkey', `${treePath()}/tile/0/000.p/1`]) {
    const response = await get(path)
    expect(response.json(), path).toMatchObject({ status: 404, code: 'not_logged' })
    expect(response.headers['cache-control'], path).toContain('no-store')
  }
  expect((await server.send('GET', proof)).json()).toMatchObject({ code: 'not_logged' })
})

test('anyone can read and verify the log with what is public, in every browser', async () => {
  const { origin, size, checkpoint } = await signNow()
  expect(origin).toBe(`keys.example.com/base${treePath()}`)
  const response = await get('/log/checkpoint')
  expect(response.body).toBe(checkpoint)
  expect((await get(`${treePath()}/checkpoint`)).body).toBe(checkpoint)
  expect(response.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'public, max-age=5',
    'access-control-allow-origin': '*',
    etag: expect.stringMatching(/^"/),
  })
  const etag = String(response.headers.etag)
  expect((await get('/log/checkpoint', { 'if-none-match': etag })).statusCode).toBe(304)

  const verified = await verifyCheckpoint(response.body, await trusted())
  expect(verified).toMatchObject({ origin, size })
  const read = createTileReader(size, (tile) => readFile(`${treePath()}/${formatTilePath(tile)}`))
  expect(toBase64(await treeRoot(size, read))).toBe(toBase64(verified.root))
  const tile = await get(`${treePath()}/tile/0/000.p/${size}`)
  expect(tile.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'cache-control': 'public, max-age=31536000, immutable',
    'access-control-allow-origin': '*',
  })
  expect(tile.rawPayload).toHaveLength(32 * size)
})

test.each([
  ...['ID/tile/0/001', 'ID/tile/', 'ID/tile/0/%2e%2e/000'],
  ...['00000000/checkpoint', '2/checkpoint', 'tile/0/000.p/1'],
])('/log/%s does not exist', async (path) => {
  const response = await get(`/log/${path}`.replace('/log/ID', treePath()))
  expect(response.json()).toMatchObject({ status: 404 })
})

test('readers of a ledger get proofs of its events, and no entry of the log names it', async () => {
  const { id, name } = server.project
  await server.send('PATCH', `/v1/projects/${id}`, { body: { name: 'renamed' } })
  await server.send('PATCH', `/v1/projects/${id}`, { body: { name } })
  const { size } = await signNow()
  const headers = { 'x-api-key': await server.apiKey('reader', id) }
  const url = `/v1/projects/${name}/ledger-proof`
  const response = await server.send('GET', `${url}?revision=2`, { headers })
  expect(response.statusCode, response.body).toBe(200)
  expect(response.headers['cache-control']).toBe('private, no-cache')
  const proof = response.json()
  const events = (await server.send('GET', `/v1/projects/${id}/events`)).json()
  expect(proof).toMatchObject({ ledgerId: id, revision: 3, head: events.at(-1).hash })
  await verifyLedgerProof(parseLedgerProof(proof.proof), await trusted())
  expect((await server.send('GET', url, { headers })).json()).toEqual(proof)
  expect((await server.send('GET', `${url}?revision=4`)).json().code).toBe('not_logged')
  expect((await server.send('GET', `${url}?revision=0`)).json().code).toBe('invalid_request')

  const system = (await server.send('GET', '/v1/ledger-proof')).json()
  expect(system.ledgerId).toBe(systemLedgerId)
  await verifyLedgerProof(parseLedgerProof(system.proof), await trusted())

  const bundle = await readFile(`${treePath()}/tile/entries/000.p/${size}`)
  const text = Buffer.from(bundle).toString('latin1')
  expect(text).not.toContain(id)
  expect(text).not.toContain(hash('sha256', id))
})

test('anyone gets a proof of the latest key set of a project, without the secret of its ledger', async () => {
  const { id } = server.project
  const path = `/v1/projects/${id}/.well-known/ledger-proof`
  const first = await registerKey(server)
  await signNow()
  const response = await get(path)
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-type']).toBe('text/plain; charset=utf-8')
  expect(response.headers['access-control-allow-origin']).toBe('*')
  const { head, opening, ...proof } = parseLedgerProof(response.body)
  expect(head.ledgerId).toBe(id)
  expect(Object.keys(opening)).toEqual(['key'])
  const checkpoint = await verifyLedgerProof({ head, opening, ...proof }, await trusted())
  await verifyLast({ head, opening, ...proof }, checkpoint)
  const listed = await verifyPublication(head, proof.publication)
  expect(listed.map(({ kid }) => kid)).toEqual([first])
  const { actor, requestId } = (await server.send('GET', `/v1/projects/${id}/events`)).json().at(-1)
  for (const text of [actor.apiKeyId, actor.name, requestId]) {
    expect(JSON.stringify({ head, proof })).not.toContain(text)
  }
  const own = (await server.send('GET', `/v1/projects/${id}/ledger-proof`)).json()
  const { opening: secret, ...rest } = parseLedgerProof(own.proof)
  expect(rest).toMatchObject({ head, index: proof.index })
  expect(response.body).not.toContain(toBase64(Object.values(secret)[0] ?? expect.fail()))

  expect((await get(path.replace(id, server.project.name))).body).toBe(response.body)
  // Of a later change nothing is known before it is logged, and the list stays.
  await registerKey(server)
  expect((await get(path)).body).toBe(response.body)
  await signNow()
  const next = parseLedgerProof((await get(path)).body)
  expect(await verifyPublication(next.head, next.publication)).toMatchObject([{ kid: first }, {}])
  const unknown = await get(path.replace(id, '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'))
  expect(unknown.json()).toMatchObject({ code: 'project_not_found' })
  await server.send('POST', '/v1/projects', { body: { name: 'not-logged' } })
  const early = await get('/v1/projects/not-logged/.well-known/ledger-proof')
  expect(early.json()).toMatchObject({ status: 404, code: 'not_logged' })
})

test('a server without a key refuses to sign, and serves the log of another one', async () => {
  const { database } = server
  const other = await startApp({ database })
  for (const path of ['/v1/log/checkpoints', '/v1/log/restarts']) {
    const response = await other.send('POST', path)
    expect(response.json()).toMatchObject({
      status: 409,
      code: 'log_stopped',
      errors: [{ code: 'no_key' }],
    })
  }
  const [own, others] = [await get('/log/checkpoint'), await other.inject('/log/checkpoint')]
  expect(others.body).toBe(own.body)
})

test('a server that starts says whether it can sign the log, before it signs', async () => {
  const copy = createKeyFile()
  await signNow()
  for (const end of ['', '.checkpoints']) {
    writeFileSync(`${copy.file}${end}`, readFileSync(`${key.file}${end}`))
  }
  await server.send('POST', '/v1/projects', { body: { name: 'signed-elsewhere' } })
  await signNow()
  const lines: string[] = []
  const start = (logSigner = copy.open()) =>
    startApp({
      database: server.database,
      logSigner,
      http: { logStream: { write: (line) => void lines.push(line) } },
    })
  const late = await start()
  await expect
    .poll(() => lines.join(''))
    .toContain('the log is not signed here: Another server has signed later checkpoints')
  expect((await late.inject('/health/ready')).headers['pubring-state']).toBe('fresh')
  rmSync(`${copy.file}.checkpoints`)
  const signer = copy.open()
  const lastSigned = vi.fn(signer.lastSigned).mockImplementation(() => {
    throw new Error('the disk does not answer')
  })
  const stopped = await start({ ...signer, lastSigned })
  const health = async (page: string) => {
    const { headers, body } = await stopped.inject(`/health/${page}`)
    return { state: headers['pubring-state'], ...JSON.parse(body) }
  }
  // An error is no stop, and the check is repeated.
  const failed = { state: 'fresh', log: 'stopped', logReason: 'log_failed' }
  await expect.poll(() => health('ready')).toMatchObject(failed)
  lastSigned.mockImplementation(signer.lastSigned)
  const stop = { log: 'stopped', logReason: 'checkpoints_missing' }
  await expect.poll(() => health('ready')).toMatchObject({ state: 'degraded', ...stop })
  expect(await health('write')).toMatchObject({ status: 'ok', ...stop })
})

test('a log that is restarted with a new key has another address; the one before says where it is', async () => {
  const before = await signNow()
  const old = treePath()
  const refused = await server.send('POST', '/v1/log/restarts')
  expect(refused.json()).toMatchObject({ status: 409, errors: [{ code: 'key_used' }] })
  key.replace()
  server = await startApp({ database: server.database, logSigner: key.open() })
  const response = await server.send('POST', '/v1/log/restarts')
  expect(response.statusCode, response.body).toBe(201)
  expect(response.json().origin).toBe(`keys.example.com/base${treePath()}`)
  const { size, checkpoint } = await signNow()
  expect((await get('/log/checkpoint')).body).toBe(checkpoint)
  expect((await get('/log/vkey')).body).toBe(`${response.json().verifierKey}\n`)
  expect(await verifyCheckpoint(checkpoint, await trusted())).toMatchObject({ size })
  const proof = (await server.send('GET', '/v1/projects/payments/ledger-proof')).json()
  await verifyLedgerProof(parseLedgerProof(proof.proof), await trusted())
  for (const path of ['checkpoint', 'tile/0/000.p/1']) {
    const ended = await get(`${old}/${path}`)
    expect(ended.json(), path).toMatchObject({
      status: 410,
      code: 'log_ended',
      endTime: expect.stringMatching(/^\d{4}-.*Z$/),
      next: `https://keys.example.com/base${treePath()}`,
    })
    expect(ended.headers['cache-control']).toBe('no-store')
  }
  const events = (await server.send('GET', '/v1/events?limit=100')).json()
  expect(events.findLast(({ type }: { type: string }) => type === 'log.started')).toMatchObject({
    actor: { apiKeyId: expect.anything() },
    changes: { origin: { from: before.origin }, size: { from: before.size } },
  })
})
