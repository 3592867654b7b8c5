import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixture } from '../support/keys/intake.ts'
import {
  readJson,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
let server: ServerProcess & { apiKey: string }
let pems: string[]
beforeAll(async () => {
  server = await startServer(folder, {
    PUBRING_INTAKE_THREADS: '1',
    PUBRING_INTAKE_QUEUE: '2',
  })
  pems = Array.from({ length: 12 }, () =>
    generateKeyPairSync('rsa', { modulusLength: 2048 })
      .publicKey.export({ type: 'spki', format: 'pem' })
      .toString(),
  )
})
afterAll(async () => {
  server.signal('SIGKILL')
  await server.ended
  remove()
})

const headers = () => ({ 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' })

async function register(publicKeyPem: string): Promise<Response> {
  return fetch(`${server.url}/v1/projects/default/jwt-keys`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify({ name: 'busy', algorithm: 'RSA', publicKeyPem }),
  })
}

test('keys beyond the share of an API key are rejected with Retry-After and succeed later; the others are registered', async () => {
  const first = await Promise.all(pems.map(register))
  const refused = first.filter(({ status }) => status !== 201)
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.length).toBeLessThan(pems.length)
  for (const response of refused) {
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await readJson(response)).toMatchObject({ code: 'rate_limited', status: 429 })
  }
  // A rejected request left nothing behind, so each can be repeated.
  for (const [index, publicKeyPem] of pems.entries()) {
    if (first[index]?.status === 429) expect((await register(publicKeyPem)).status).toBe(201)
  }
  const list = await fetch(`${server.url}/v1/projects/default/jwt-keys`, { headers: headers() })
  expect(await readJson<object[]>(list)).toHaveLength(pems.length)
})

test('requests without thread work are served meanwhile: checks of EC keys, lists, health', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' })
  const check = async (body: object) =>
    fetch(`${server.url}/v1/key-checks`, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify(body),
    })
  const costly = { publicKeyPem: fixture('keys/good/rsa4096.pem') }
  const busy = Promise.all(Array.from({ length: 24 }, () => check(costly)))
  expect((await check({ publicKeyPem })).status).toBe(200)
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
  const statuses = (await busy).map(({ status }) => status)
  expect(statuses).toContain(200)
  expect(statuses).toContain(429)
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true)
})
