import { beforeAll, describe, expect, test } from 'vitest'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { keysUrl } from '../../support/app/keys.ts'
import { emptyBlocklist } from '../../support/keys/intake.ts'
import { freshPair } from '../../support/keys/key-pairs.ts'
import { rawConnection, readProblem, requestHead } from '../../support/network/raw-connection.ts'

let app: TestApp
let address: string
/** Runs between the intake of a key and its commit. */
let beforeCommit: () => Promise<unknown> = async () => undefined

beforeAll(async () => {
  app = await startApp({
    examine: async (text, algorithm) => {
      const verdict = examineKey(text, algorithm, emptyBlocklist)
      await beforeCommit()
      return verdict
    },
  })
  address = await app.listen()
})

function registration(): string {
  const publicKeyPem = freshPair('P-256').publicKey.export({ type: 'spki', format: 'pem' })
  return JSON.stringify({ name: 'planted', algorithm: 'ES256', publicKeyPem })
}

/** Ways in which the API key loses its rights after its request was admitted. */
const losses: Record<string, (id: string) => Promise<unknown>> = {
  revoked: (id) => app.send('DELETE', `/v1/api-keys/${id}`),
  deactivated: (id) => app.send('PATCH', `/v1/api-keys/${id}`, { body: { active: false } }),
  demoted: (id) => app.send('PATCH', `/v1/api-keys/${id}`, { body: { role: 'reader' } }),
  expired: async (id) => {
    const expireTime = new Date(Date.now() + 300).toISOString()
    await app.send('PATCH', `/v1/api-keys/${id}`, { body: { expireTime } })
    await new Promise((resolve) => setTimeout(resolve, 400))
  },
}

const changes: Record<string, { method: string; path: () => string; body: () => string }> = {
  'creating an API key': {
    method: 'POST',
    path: () => '/v1/api-keys',
    body: () => JSON.stringify({ name: 'planted', role: 'admin' }),
  },
  'registering a key': {
    method: 'POST',
    path: () => keysUrl,
    body: registration,
  },
  'creating a project': {
    method: 'POST',
    path: () => '/v1/projects',
    body: () => JSON.stringify({ name: `planted-${newId()}` }),
  },
  'importing keys': {
    method: 'POST',
    path: () => '/v1/projects/payments/key-imports',
    body: () => JSON.stringify({ keys: [JSON.parse(registration())] }),
  },
}

async function callerWith(role: 'admin' | 'writer' | 'reader') {
  const answer = await app.send('POST', '/v1/api-keys', { body: { name: 'a caller', role } })
  return answer.json() as { id: string; apiKey: string }
}

async function heads() {
  const system = await app.send('GET', '/v1/events?limit=200')
  const project = await app.send('GET', '/v1/projects/payments')
  const planted = system
    .json()
    .filter(({ changes }: { changes?: { name?: { to?: string } } }) =>
      changes?.name?.to?.startsWith('planted'),
    )
  return { planted: planted.length, revision: project.json().revision }
}

const reads: Record<string, { path: string; body: object }> = {
  'checking a token': { path: '/v1/projects/payments/token-checks', body: { token: 'a.b.c' } },
  'checking a key': { path: '/v1/key-checks', body: { publicKeyPem: 'none' } },
}

/** Sends a request in two parts, with the loss of its API key between them. */
async function sendInTwoParts(
  { method, path, apiKey, body }: Record<'method' | 'path' | 'apiKey' | 'body', string>,
  between: () => Promise<unknown>,
  pauseMs: number,
) {
  const connection = rawConnection(address)
  const head = requestHead(
    `${method} ${path} HTTP/1.1`,
    'Host: keys.example.com',
    'Content-Type: application/json',
    `X-Api-Key: ${apiKey}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  )
  connection.socket.write(head + body.slice(0, 1))
  await new Promise((resolve) => setTimeout(resolve, 50))
  await between()
  await new Promise((resolve) => setTimeout(resolve, pauseMs))
  connection.socket.write(body.slice(1))
  return readProblem(await connection.closed).problem
}

describe.each(['revoked', 'deactivated', 'expired'])(
  'an API key that is %s 100 ms before the rest of its body arrives',
  (loss) => {
    test.each(Object.keys(reads))('stops %s', async (name) => {
      const { id, apiKey } = await callerWith('reader')
      const { path, body } = reads[name] ?? { path: '', body: {} }
      const request = { method: 'POST', path, apiKey, body: JSON.stringify(body) }
      const problem = await sendInTwoParts(
        request,
        () => losses[loss]?.(id) ?? Promise.reject(),
        100,
      )
      expect(problem.code).toBe('invalid_api_key')
    })
  },
)

describe.each(Object.keys(losses))('an API key that is %s while its body arrives', (loss) => {
  test.each(Object.keys(changes))('stops %s', async (name) => {
    const { id, apiKey } = await callerWith('admin')
    const { method, path, body } = changes[name] ?? { method: '', path: String, body: String }
    const text = body()
    const before = await heads()
    const request = { method, path: path(), apiKey, body: text }
    const problem = await sendInTwoParts(request, () => losses[loss]?.(id) ?? Promise.reject(), 0)
    expect(problem.code).toBe(loss === 'demoted' ? 'insufficient_role' : 'invalid_api_key')
    expect(await heads()).toEqual(before)
  })
})

test.each(Object.keys(losses))('a key is not registered once its writer is %s', async (loss) => {
  const { id, apiKey } = await callerWith('writer')
  const before = await heads()
  beforeCommit = () => losses[loss]?.(id) ?? Promise.resolve()
  const answer = await app.send('POST', keysUrl, {
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: registration(),
  })
  beforeCommit = async () => undefined
  expect(answer.json().code).toBe(loss === 'demoted' ? 'insufficient_role' : 'invalid_api_key')
  expect(await heads()).toEqual(before)
})

test('no change of an API key commits after its revocation was answered', async () => {
  const { kid } = (await app.send('POST', keysUrl, { body: JSON.parse(registration()) })).json()
  const revision = async () => (await app.send('GET', '/v1/projects/payments')).json().revision
  for (let round = 0; round < 10; round += 1) {
    const { id, apiKey } = await callerWith('writer')
    const writers = Array.from({ length: 20 }, (_, index) =>
      app.send('PATCH', `${keysUrl}/${kid}`, {
        headers: { 'x-api-key': apiKey },
        body: { label: `round ${round}, writer ${index}` },
      }),
    )
    await app.send('DELETE', `/v1/api-keys/${id}`)
    const atRevocation = await revision()
    await Promise.all(writers)
    expect(await revision()).toBe(atRevocation)
  }
})

test('an API key that another process revokes or deactivates is refused with the next request, 10 of 10 times', async () => {
  const elsewhere = await startApp({ database: app.database })
  for (let round = 0; round < 10; round += 1) {
    const { id, apiKey } = await callerWith('reader')
    const headers = { 'x-api-key': apiKey }
    const read = async () =>
      (await app.send('GET', '/v1/projects/payments', { headers })).statusCode
    // The third answer is from memory.
    expect([await read(), await read(), await read()]).toEqual([200, 200, 200])
    if (round % 2 === 0) await elsewhere.send('DELETE', `/v1/api-keys/${id}`)
    else await elsewhere.send('PATCH', `/v1/api-keys/${id}`, { body: { active: false } })
    expect(await read()).toBe(401)
  }
  await elsewhere.close()
})

describe('an API key that changes itself', () => {
  test('may revoke itself', async () => {
    const { id, apiKey } = await callerWith('admin')
    const headers = { 'x-api-key': apiKey }
    const answer = await app.send('DELETE', `/v1/api-keys/${id}?confirm=self`, { headers })
    expect(answer.statusCode).toBe(204)
  })
  test('may demote itself', async () => {
    const { id, apiKey } = await callerWith('admin')
    const headers = { 'x-api-key': apiKey }
    const body = { role: 'reader' }
    const url = `/v1/api-keys/${id}?confirm=self`
    const answer = await app.send('PATCH', url, { headers, body })
    expect(answer.json()).toMatchObject({ role: 'reader' })
  })
})
