import { hash, randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import canonicalize from 'canonicalize'
import { beforeEach, describe, expect, test } from 'vitest'
import { createProvenKeySet } from '../../../packages/client/src/key-set/proven.ts'
import { formatProof, parseProof } from '../../../packages/client/src/log/checkpoint.ts'
import {
  formatVerifierKey,
  type ListedKey,
  parseLedgerProof,
} from '../../../packages/client/src/log/index.ts'
import { formatLedgerProof } from '../../../packages/client/src/log/ledger-proof.ts'
import { parseNote } from '../../../packages/client/src/log/note.ts'
import { startApp } from '../../support/app/app.ts'
import { advanceDate } from '../../support/app/clock.ts'
import { openKeySet, registerAndSign, setActive, verifyResult } from '../../support/app/key-set.ts'
import { createKeyFile } from '../../support/log/key-file.ts'
import { createLiar } from '../../support/log/liar.ts'
import { createMemoryLog } from '../../support/log/memory-log.ts'
import { excuses, proveOldEntry } from '../../support/log/old-proof.ts'
import { createSigner, datedNote, signedNote } from '../../support/log/signers.ts'
import { type HttpServer, startHttpServer } from '../../support/network/http-server.ts'

const project: string = randomUUID()

/** The key set that the server publishes, with its proof, and its age if a cache has it. */
let published: {
  kids: string[]
  revision: number | string | undefined
  proof: string | undefined
  age?: number
}
/** Happens once, after the server has read the key set and before it answers. */
let meanwhile: (() => Promise<void>) | undefined
let requests: string[]
let server: HttpServer
let log: Awaited<ReturnType<typeof createMemoryLog>>

/** A key with `constructor` as its type instead of EC if that is its kid. */
function jwkOf(kid: string) {
  const kty = kid === 'constructor' ? kid : 'EC'
  return { kid, kty, crv: 'P-256', x: kid, y: kid, alg: 'ES256' }
}
function listed(kid: string): ListedKey {
  const { kid: _kid, alg, ...material } = jwkOf(kid)
  return { kid, alg, thumbprint: hash('sha256', canonicalize(material) ?? '', 'base64url') }
}

beforeEach(async () => {
  published = { kids: ['first'], revision: 1, proof: undefined }
  requests = []
  meanwhile = undefined
  log = await createMemoryLog()
  server = await startHttpServer(async (request, response) => {
    requests.push(request.url ?? '')
    const { kids, revision, proof, age } = published
    if (request.url?.endsWith('/ledger-proof')) {
      return response.writeHead(proof === undefined ? 404 : 200).end(proof)
    }
    const etag = `"${kids.join()}"`
    const change = meanwhile
    meanwhile = undefined
    await change?.()
    if (revision !== undefined) response.setHeader('pubring-revision', revision)
    if (age !== undefined) response.setHeader('age', age)
    response.setHeader('cache-control', 'max-age=60')
    response.setHeader('etag', etag)
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    return response.end(JSON.stringify({ keys: kids.map(jwkOf) }))
  })
})

/** Logs that the project has these keys from a revision on, and publishes the proof. */
async function prove(
  revision: number,
  keys: readonly (string | ListedKey)[] = published.kids,
  options: Parameters<typeof log.publish>[2] & { ledgerId?: string } = {},
): Promise<void> {
  const { ledgerId = project, ...more } = options
  const list = keys.map((key) => (typeof key === 'string' ? listed(key) : key))
  published.proof = await log.publish({ ledgerId, revision }, list, more)
}

function publish(kids: string[], revision: number | string): void {
  Object.assign(published, { kids, revision })
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

const refused = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) })

test('a key set that is older than what was proven is rejected, and the last one kept', async () => {
  await prove(1)
  const { keys, waitForState } = open()
  await keys.ready()
  expect(keys.state()).toMatchObject({ kids: ['first'], unprovenKids: [], provenRevision: 1 })
  publish(['second'], 3)
  await prove(3)
  await waitForState(({ kids, provenRevision }) => kids[0] === 'second' && provenRevision === 3)
  publish(['first'], 2)
  await waitForState(({ status }) => status === 'interrupted')
  expect(keys.state()).toMatchObject({
    kids: ['second'],
    error: refused('key_set_disproved', /is of revision 2, and the log has revision 3/),
  })
})

test('a key that a new key set adds waits for the proof, and one that it takes away is gone', async () => {
  publish(['first', 'second'], 1)
  await prove(1)
  const { keys, waitForState } = open()
  await keys.ready()
  // The second of them has an unknown type.
  publish(['second', 'third', 'constructor'], 2)
  await waitForState(({ unprovenKids }) => unprovenKids?.[0] === 'third')
  expect(keys.state()).toMatchObject({ kids: ['second'], provenRevision: 1 })
  await expect(keys({ kid: 'third', alg: 'ES256' })).rejects.toEqual(
    refused('key_set_unproven', /has not proven the key that the token names/),
  )
  publish(['second', 'third'], 2)
  await prove(2)
  await waitForState(({ kids }) => kids.join() === 'second,third')
  const fetched = requests.filter((path) => path.endsWith('/ledger-proof')).length
  await expect.poll(() => requests.length).toBeGreaterThan(fetched + 6)
  expect(requests.filter((path) => path.endsWith('/ledger-proof'))).toHaveLength(fetched)
})

test('a change that leaves the key set as it was is not taken for an older one', async () => {
  await prove(1)
  const { keys, waitForState } = open()
  await keys.ready()
  published.revision = 2
  await prove(2)
  await waitForState(({ provenRevision }) => provenRevision === 2)
  expect(keys.state().error).toBeUndefined()
})

const proofRequests = () => requests.filter((path) => path.endsWith('/ledger-proof')).length

test('a change between the responses with the key set and the proof is no contradiction', async () => {
  await prove(1)
  meanwhile = async () => {
    publish(['first', 'second'], 2)
    await prove(2)
  }
  const asked: unknown[] = []
  const fetch: typeof globalThis.fetch = (url, init) => {
    asked.push(new Headers(init?.headers).get('cache-control'))
    return globalThis.fetch(url, init)
  }
  const { keys } = open({ background: false, fetch })
  await keys.ready()
  expect(keys.state()).toMatchObject({ kids: ['first', 'second'], provenRevision: 2 })
  expect(asked).toEqual([null, null, 'no-cache'])
})

test('of the copy that a cache has of an older key set, the keys that the log still has are used', async () => {
  publish(['first', 'second'], 1)
  await prove(1)
  published.age = 0
  const running = open({ background: false, coolDown: 0 }).keys
  await running.ready()
  await prove(3, ['second', 'third'])
  const started = open({ background: false }).keys
  await started.ready()
  advanceDate(61_000)
  await prove(4, ['second', 'third'])
  published.age = 59
  await running.ready()
  for (const [keys, provenRevision] of [[started, 3] as const, [running, 4] as const]) {
    expect(keys.state()).toMatchObject({
      kids: ['second'],
      unprovenKids: ['first'],
      provenRevision,
    })
    expect(keys.state().error).toBeUndefined()
  }
  await expect(started({ kid: 'first', alg: 'ES256' })).rejects.toMatchObject({
    code: 'kid_unknown',
  })
})

test('a proof that is dated each minute is asked for once a minute, and keeps the key set usable', async () => {
  await prove(1)
  const { keys } = open({ background: false, coolDown: 0 })
  await keys.ready()
  await keys.ready()
  expect(proofRequests()).toBe(1)
  for (const minute of [1, 2, 3]) {
    advanceDate(70_000)
    await date(Math.floor(Date.now() / 1_000))
    await keys.ready()
    await keys.ready()
    expect(proofRequests()).toBe(1 + minute)
  }
})

describe('of two proofs', () => {
  /** The key set after the second of the proofs, which are sent in the opposite order of the log. */
  async function openWith(...logged: number[]) {
    const proofs: (string | undefined)[] = []
    for (const revision of logged) {
      await prove(revision)
      proofs.unshift(published.proof)
    }
    // Each request for the key set asks for the proof of its revision.
    published.revision = 9
    const { keys, waitForState } = open()
    published.proof = proofs[0]
    await keys.ready()
    const before = proofRequests()
    published.proof = proofs[1]
    await waitForState(() => proofRequests() > before + 1)
    return keys.state()
  }

  test('an earlier one does not take the place of the last one', async () => {
    const { provenRevision, error } = await openWith(1, 2)
    expect({ provenRevision, error }).toEqual({ provenRevision: 2, error: undefined })
  })

  test('one that names an earlier event as the last one of more entries is found', async () => {
    const { provenRevision, error } = await openWith(3, 2)
    expect(provenRevision).toBe(2)
    const message = /event 2 is the last one of its first 4 entries, and event 3 of its first 2/
    expect(error).toEqual(refused('key_set_disproved', message))
  })
})

test('keys that are no longer in use take no memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  await prove(1)
  const url = `${server.url}/v1/projects/${project}/.well-known/jwks-full.json`
  const trusted = { key: formatVerifierKey(log.key) }
  const proven = createProvenKeySet({ url, fetch, timeout: 60_000, log: trusted })
  const head = { revision: 1, hashStart: undefined }
  const first = { kid: 'first', alg: 'ES256', jwk: jwkOf('first') }
  await proven.check({ head, keys: [first] }, undefined)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let count = 0; count < 50; count++) {
    const jwk = { ...jwkOf('foreign'), x: `${count}`.padEnd(2_000_000, 'x') }
    const foreign = { kid: 'foreign', alg: 'ES256', jwk }
    await proven.check({ head: { ...head, revision: 2 }, keys: [first, foreign] }, undefined)
    expect(proven.counts(foreign)).toBe(false)
  }
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000)
  expect(proven.counts(first)).toBe(true)
})

describe('a key set of a proven revision is rejected if', () => {
  test.each<[string, string[], readonly (string | ListedKey)[], RegExp]>([
    [
      'it has a foreign key',
      ['first', 'foreign'],
      ['first'],
      /revision 1: it has the key "foreign"/,
    ],
    ['it lacks a key', ['first'], ['first', 'second'], /revision 1: it lacks the key "second"/],
    [
      'a kid has another key',
      ['first'],
      [{ ...listed('second'), kid: 'first' }],
      /has the key "first"/,
    ],
    [
      'two kids have the key of the other',
      ['first', 'second'],
      [
        { ...listed('second'), kid: 'first' },
        { ...listed('first'), kid: 'second' },
      ],
      /has the key "first"/,
    ],
    ['a key has another algorithm', ['first'], [{ ...listed('first'), alg: 'ES384' }], /"first"/],
  ])('%s', async (_name, kids, list, message) => {
    publish(kids, 1)
    await prove(1, list)
    await expect(open().keys.ready()).rejects.toEqual(refused('key_set_disproved', message))
  })

  test('it is of another event', async () => {
    publish(['first'], '1.00000000')
    await prove(1)
    await expect(open().keys.ready()).rejects.toEqual(
      refused('key_set_disproved', /is of 1\.00000000, and the log has event 1 with the hash/),
    )
  })
})

test('an expired key may be missing, and does not count', async () => {
  const expired = { ...listed('second'), expireTime: '2026-01-01T00:00:00.000Z' }
  await prove(1, ['first', expired])
  const { keys } = open()
  await keys.ready()
  expect(keys.state().kids).toEqual(['first'])
  publish(['first', 'second'], 1)
  const other = open().keys
  await other.ready()
  expect(other.state()).toMatchObject({ kids: ['first'], unprovenKids: ['second'] })
})

test('jwks.json has no ML-DSA keys, and the placeholder stands in no key set', async () => {
  const placeholder = { ...listed('x'), kid: 'no-active-key' }
  await prove(1, ['first', { ...listed('second'), alg: 'ML-DSA-44' }, placeholder])
  const address = `${server.url}/v1/projects/${project}/.well-known`
  const options = { log: { key: formatVerifierKey(log.key) } }
  const { keys } = openKeySet(`${address}/jwks.json`, options)
  await keys.ready()
  expect(keys.state().kids).toEqual(['first'])
  const full = openKeySet(`${address}/jwks-full.json`, options)
  await expect(full.keys.ready()).rejects.toEqual(refused('key_set_disproved', /"second"/))
})

test.each<[string, number, RegExp]>([
  ['two heads of one revision', 1, /two hashes for event 1/],
  ['two trees of one size', 2, /two checkpoints with 4 entries/],
])('%s are found', async (_name, revision, message) => {
  published.revision = 3
  await prove(9)
  await prove(1)
  const { keys, waitForState } = open()
  await keys.ready()
  expect(keys.state().provenRevision).toBe(1)
  if (revision === 2) {
    log.entries.length = 0
    await prove(8)
  }
  await prove(revision)
  await waitForState(({ error }) => error?.code === 'key_set_disproved')
  expect(keys.state().error?.message).toMatch(message)
})

/** The same proof with another date of its checkpoint, in seconds, or none. */
async function date(time: number | undefined): Promise<void> {
  const proof = parseProof(published.proof ?? '')
  const { text } = parseNote(proof.checkpoint)
  const signed =
    time === undefined
      ? signedNote(text, log.signer)
      : datedNote(text, log.signer, { date: time, witnesses: [] })
  published.proof = formatProof({ ...proof, checkpoint: await signed })
}

const minutesAgo = (minutes: number) => Math.floor(Date.now() / 1_000) - minutes * 60

test.each<[string, () => Promise<void>, RegExp]>([
  ['of another project', () => prove(1, ['first'], { ledgerId: randomUUID() }), /does not show/],
  [
    'of another log',
    async () => {
      const other = await createMemoryLog()
      published.proof = await other.publish({ ledgerId: project, revision: 1 }, [listed('first')])
    },
    /invalid|not signed/,
  ],
  [
    'of an event that is not the last one',
    async () => {
      await prove(1)
      const { last: _, ...proof } = parseLedgerProof(published.proof ?? '')
      published.proof = formatLedgerProof(proof)
    },
    /does not show that event 1 is the last one/,
  ],
  ['that is missing', async () => {}, /responds with status 404/],
  [
    'of enormous size',
    async () => {
      published.proof = 'a'.repeat(10_000_000)
    },
    /not a proof/,
  ],
  ['without a date', () => prove(1).then(() => date(undefined)), /does not date its checkpoints/],
  ['that is old', () => prove(1, ['first'], { date: minutesAgo(3) }), /not proven .* since 20/],
])('with a proof %s no key counts', async (_name, prepare, message) => {
  await prepare()
  const { keys } = open()
  await expect(keys.ready()).rejects.toEqual(refused('key_set_unproven', message))
  expect(keys.state().kids).toEqual([])
})

test('a proof needs the cosignatures of the witnesses that are named, and their dates', async () => {
  const witness = await createSigner('witness.example/w', 'cosignature')
  const options = { key: formatVerifierKey(log.key), witnesses: [formatVerifierKey(witness.key)] }
  await prove(1)
  await expect(open({ log: options }).keys.ready()).rejects.toEqual(
    refused('key_set_unproven', /0 of the trusted witnesses/),
  )
  await open({ log: { ...options, quorum: 0 } }).keys.ready()
  await prove(1, ['first'], { witnesses: [witness] })
  await open({ log: options }).keys.ready()
})

test('a response without a revision is rejected', async () => {
  published.revision = undefined
  await expect(open().keys.ready()).rejects.toEqual(
    refused('key_set_disproved', /Pubring-Revision/),
  )
})

test('an address without an id, and a key that is none, are rejected', async () => {
  expect(() => open({}, 'default')).toThrow(expect.objectContaining({ code: 'invalid_option' }))
  const { keys } = open({ log: { key: 'key' } })
  await expect(keys.ready()).rejects.toMatchObject({ code: 'invalid_option' })
})

/** A registry, before which a server may lie. */
const registry = await startApp({ logSigner: createKeyFile().open() })
const address = await registry.listen()
const folder = `/v1/projects/${registry.project.id}/.well-known`
const documents = { keySet: `${folder}/jwks-full.json`, proof: `${folder}/ledger-proof` }
const sign = async () => {
  expect((await registry.send('POST', '/v1/log/checkpoints')).statusCode).toBe(201)
}
async function startLiar() {
  const liar = await createLiar(address)
  await sign()
  const vkey = (await registry.inject({ method: 'GET', url: '/log/vkey' })).body.trim()
  const watched = () =>
    openKeySet(`${liar.url}/v1/projects/${registry.project.id}`, {
      log: { key: vkey },
      maxStale: 3_000,
      coolDown: 0,
      background: false,
    }).keys
  return { liar, watched }
}

test('all keys are proven, those of each algorithm and until they expire', async () => {
  const { watched } = await startLiar()
  const keys = watched()
  await keys.ready()
  const signed = [
    await registerAndSign(registry, 'RS256'),
    await registerAndSign(registry, 'ES512'),
    await registerAndSign(registry, 'Ed25519', { expireTime: '2999-01-01T00:00:00.000Z' }),
    await registerAndSign(registry, 'ML-DSA-44'),
  ]
  expect(await verifyResult(keys, signed[0]?.token ?? '')).toBe('key_set_unproven')
  await sign()
  // An unknown key has the proof asked for at once.
  expect(await verifyResult(keys, signed[0]?.token ?? '')).toMatchObject({ sub: 'alice' })
  expect(keys.state()).toMatchObject({ kids: signed.map(({ kid }) => kid), unprovenKids: [] })
})

test('a revocation that is kept back is refused with the real proof at once, and with an old one within two minutes', async () => {
  const { liar, watched } = await startLiar()
  const first = await registerAndSign(registry)
  await sign()
  await liar.freeze(documents.keySet)
  await setActive(registry, first.kid, false)
  await sign()
  await expect(watched().ready()).rejects.toEqual(
    refused('key_set_disproved', /is of revision \d+, and the log has revision/),
  )
  await setActive(registry, first.kid, true)
  await sign()
  const { liar: other, watched: fooled } = await startLiar()
  await other.freeze(documents.keySet, documents.proof)
  await setActive(registry, first.kid, false)
  await sign()
  const keys = fooled()
  expect(await verifyResult(keys, first.token)).toMatchObject({ sub: 'alice' })
  advanceDate(121_000)
  await expect(keys({ kid: first.kid, alg: 'ES256' })).rejects.toEqual(
    refused('key_set_unproven', /since 20\d\d-/),
  )
})

test.each(excuses)(
  'a revocation that is kept back with the old entry in a new tree, and %s, is noticed',
  async (excuse) => {
    const first = await registerAndSign(registry)
    const { liar, watched } = await startLiar()
    const keys = watched()
    expect(await verifyResult(keys, first.token)).toMatchObject({ sub: 'alice' })
    const earlier = await (await fetch(address + documents.proof)).text()
    await liar.freeze(documents.keySet)
    await setActive(registry, first.kid, false)
    await sign()
    liar.forge(documents.proof, () => proveOldEntry(address, documents.proof, earlier, excuse))
    // A new process trusts it at no time, and a running one as long as its last proof is recent.
    const message = /does not show that event \d+ is the last one/
    await expect(watched().ready()).rejects.toEqual(refused('key_set_unproven', message))
    advanceDate(121_000)
    expect(await verifyResult(keys, first.token)).toBe('key_set_unproven')
    expect(keys.state().error).toEqual(refused('key_set_unproven', message))
  },
)
