import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import type { LoggedHead } from '../../../packages/client/src/log/index.ts'
import { entryKey } from '../../../packages/client/src/log/leaf.ts'
import {
  formatLedgerProof,
  parseLedgerProof,
} from '../../../packages/client/src/log/ledger-proof.ts'
import { formatVerifierKey } from '../../../packages/client/src/log/note.ts'
import { startApp } from '../../support/app/app.ts'
import { openKeySet, registerAndSign } from '../../support/app/key-set.ts'
import { createKeyFile } from '../../support/log/key-file.ts'
import { createMemoryLog } from '../../support/log/memory-log.ts'
import { createSigner } from '../../support/log/signers.ts'
import { type HttpServer, startHttpServer } from '../../support/network/http-server.ts'

const project: string = randomUUID()
const headAt = (revision: number, digit = 'a'): LoggedHead => ({
  ledgerId: project,
  revision,
  head: digit.repeat(64),
  time: '2026-01-31T12:00:00.000Z',
})

/** The key set that the server publishes, with its proof. */
let published: { kids: string[]; revision: number | undefined; proof: string | undefined }
let requests: string[]
let server: HttpServer
let log: Awaited<ReturnType<typeof createMemoryLog>>

beforeEach(async () => {
  published = { kids: ['first'], revision: 1, proof: undefined }
  requests = []
  log = await createMemoryLog()
  server = await startHttpServer((request, response) => {
    requests.push(request.url ?? '')
    const { kids, revision, proof } = published
    if (request.url?.endsWith('/ledger-proof')) {
      return response.writeHead(proof === undefined ? 404 : 200).end(proof)
    }
    const etag = `"${kids.join()}"`
    if (revision !== undefined) response.setHeader('pubring-revision', revision)
    response.setHeader('etag', etag)
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    const keys = kids.map((kid) => ({ kid, kty: 'EC', alg: 'ES256' }))
    return response.end(JSON.stringify({ keys }))
  })
})

/** Logs the head and publishes its proof, with the key of this entry alone. */
async function prove(head: LoggedHead): Promise<void> {
  const { opening: _, ...proof } = parseLedgerProof(await log.proof(await log.append(head), head))
  const opening = { key: await entryKey(log.blinding, head.revision) }
  published.proof = formatLedgerProof({ ...proof, opening })
}

function publish(proof: string): void {
  published.proof = proof
}

function open(options: Parameters<typeof openKeySet>[1] = {}, id = project) {
  const key = formatVerifierKey(log.key)
  return openKeySet(`${server.url}/v1/projects/${id}`, {
    log: { key },
    // Polls every second.
    maxStale: 3_000,
    ...options,
  })
}

test('a key set of a proven revision is used', async () => {
  await prove(headAt(1))
  const { keys } = open()
  await keys.ready()
  expect(keys.state()).toMatchObject({ kids: ['first'], provenRevision: 1 })
})

test('a key set that is older than what was proven is rejected, and the last one kept', async () => {
  await prove(headAt(1))
  const { keys, waitForState } = open()
  await keys.ready()
  Object.assign(published, { kids: ['second'], revision: 3 })
  await prove(headAt(3))
  await waitForState(({ kids, provenRevision }) => kids[0] === 'second' && provenRevision === 3)
  Object.assign(published, { kids: ['first'], revision: 2 })
  await waitForState(({ status }) => status === 'interrupted')
  expect(keys.state()).toMatchObject({
    kids: ['second'],
    error: {
      code: 'key_set_disproved',
      message: expect.stringMatching(/is of revision 2, and the log has revision 3/),
    },
  })
})

test('a key set that is new is used at once, and its proof is fetched until there is one', async () => {
  await prove(headAt(1))
  const { keys, waitForState } = open()
  await keys.ready()
  Object.assign(published, { kids: ['second'], revision: 2 })
  await waitForState(({ kids }) => kids[0] === 'second')
  expect(keys.state().provenRevision).toBe(1)
  await prove(headAt(2))
  await expect.poll(() => keys.state().provenRevision).toBe(2)
  const fetched = requests.filter((path) => path.endsWith('/ledger-proof')).length
  await expect.poll(() => requests.length).toBeGreaterThan(fetched + 6)
  expect(requests.filter((path) => path.endsWith('/ledger-proof'))).toHaveLength(fetched)
})

test('a change that leaves the key set as it was is not taken for an older one', async () => {
  const { keys, waitForState } = open()
  await keys.ready()
  published.revision = 2
  await prove(headAt(2))
  await waitForState(({ provenRevision }) => provenRevision === 2)
  expect(keys.state().error).toBeUndefined()
})

test('two heads of one revision are found', async () => {
  Object.assign(published, { revision: 2 })
  await prove(headAt(1))
  const { keys, waitForState } = open()
  await keys.ready()
  expect(keys.state().provenRevision).toBe(1)
  await prove(headAt(1, 'b'))
  await waitForState(({ error }) => error?.code === 'key_set_disproved')
  expect(keys.state().error?.message).toMatch(/two hashes for event 1/)
})

test('two trees of one size are found', async () => {
  Object.assign(published, { revision: 3 })
  await log.append(headAt(9))
  await prove(headAt(1))
  const { keys, waitForState } = open()
  await keys.ready()
  log.entries.length = 0
  await log.append(headAt(8))
  await prove(headAt(2))
  await waitForState(({ error }) => error?.code === 'key_set_disproved')
  expect(keys.state().error?.message).toMatch(/two checkpoints with 2 entries/)
})

test.each<[string, () => Promise<void>]>([
  ['of another project', () => prove({ ...headAt(5), ledgerId: randomUUID() })],
  [
    'of another log',
    async () => {
      const other = await createMemoryLog()
      published.proof = await other.proof(await other.append(headAt(5)), headAt(5))
    },
  ],
  ['that is none', async () => publish('proof')],
  ['of enormous size', async () => publish('a'.repeat(10_000_000))],
])('a proof %s raises nothing', async (_name, prepare) => {
  await prepare()
  const { keys } = open()
  await keys.ready()
  expect(keys.state()).toMatchObject({ status: 'polling', kids: ['first'] })
  expect(keys.state().provenRevision).toBeUndefined()
})

test('a proof needs the cosignatures of the witnesses that are named', async () => {
  await prove(headAt(1))
  const witness = await createSigner('witness.example/w', 'cosignature')
  const options = { key: formatVerifierKey(log.key), witnesses: [formatVerifierKey(witness.key)] }
  const { keys } = open({ log: options })
  await keys.ready()
  expect(keys.state().provenRevision).toBeUndefined()
  const any = open({ log: { ...options, quorum: 0 } })
  await any.keys.ready()
  expect(any.keys.state().provenRevision).toBe(1)
})

test('a registry proves the revisions of its key sets', async () => {
  const key = createKeyFile()
  const registry = await startApp({ logSigner: key.open() })
  const address = `${await registry.listen()}/v1/projects/${registry.project.id}`
  await registry.send('POST', '/v1/log/checkpoints')
  const vkey = (await registry.inject({ method: 'GET', url: '/log/vkey' })).body.trim()
  const { keys, waitForState } = openKeySet(address, { log: { key: vkey } })
  await keys.ready()
  const first = keys.state().provenRevision ?? 0
  expect(first).toBeGreaterThan(0)
  const { kid } = await registerAndSign(registry)
  await waitForState(({ kids }) => kids.includes(kid))
  expect(keys.state().provenRevision).toBe(first)
  await registry.send('POST', '/v1/log/checkpoints')
  await registerAndSign(registry)
  await waitForState(({ provenRevision }) => provenRevision === first + 1)
  keys.close()
})

test('a response without a revision is rejected', async () => {
  published.revision = undefined
  await expect(open().keys.ready()).rejects.toMatchObject({
    code: 'key_set_disproved',
    message: expect.stringMatching(/Pubring-Revision/),
  })
})

test('an address without an id, and a key that is none, are rejected', async () => {
  expect(() => open({}, 'default')).toThrow(expect.objectContaining({ code: 'invalid_option' }))
  const { keys } = open({ log: { key: 'key' } })
  await expect(keys.ready()).rejects.toMatchObject({ code: 'invalid_option' })
})
