import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import {
  readJson,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
afterAll(remove)

function freshPem(): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return publicKey.export({ format: 'pem', type: 'spki' }).toString()
}

/** Creates keys until the server is gone; answers the kids that were acknowledged. */
async function createUntilGone(url: string, apiKey: string): Promise<string[]> {
  const acknowledged: string[] = []
  for (;;) {
    const response = await fetch(`${url}/v1/projects/default/jwt-keys`, {
      method: 'POST',
      headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }),
    }).catch(() => undefined)
    if (response === undefined) return acknowledged
    if (response.status === 201) acknowledged.push(await kidOf(response))
  }
}

async function kidOf(response: Response): Promise<string> {
  return (await readJson<{ kid: string }>(response)).kid
}

async function kidsOf(url: string, apiKey: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/projects/default/jwt-keys`, {
    headers: { 'X-Api-Key': apiKey },
  })
  return (await readJson<{ id: string }[]>(response)).map(({ id }) => id)
}

test('kill -9 while keys are being created loses none that was acknowledged', async () => {
  const env = { PUBRING_MAX_KEYS_PER_PROJECT: '10000', PUBRING_MAX_JWKS_BYTES: '16777216' }
  let server = await startServer(folder, env)
  const { apiKey } = server
  const acknowledged: string[] = []
  for (let round = 0; round < 4; round += 1) {
    const writers = Array.from({ length: 16 }, () => createUntilGone(server.url, apiKey))
    await delay(150 + 200 * Math.random())
    server.signal('SIGKILL')
    await server.ended
    acknowledged.push(...(await Promise.all(writers)).flat())
    server = { ...(await spawnServer(folder, env)), apiKey }
    await whenReady(server)
  }
  const kids = await kidsOf(server.url, apiKey)
  server.signal('SIGKILL')
  await server.ended
  expect(acknowledged.length).toBeGreaterThan(20)
  expect(kids).toEqual(expect.arrayContaining(acknowledged))
  expect(new Set(kids).size).toBe(kids.length)
})

test('SIGTERM with 50 creates in flight answers each, stores what it answered, and exits with 0', async () => {
  const where = join(folder, 'sigterm')
  mkdirSync(where)
  const server = await startServer(where)
  const { apiKey, url } = server
  const creates = Array.from({ length: 50 }, () =>
    fetch(`${url}/v1/projects/default/jwt-keys`, {
      method: 'POST',
      headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }),
    }),
  )
  // Once the first has its answer, all are in the server's hands or on their way.
  await Promise.race(creates)
  server.signal('SIGTERM')
  const responses = await Promise.all(creates)
  expect(responses.map(({ status }) => status)).toEqual(Array(50).fill(201))
  const kids = await Promise.all(responses.map(kidOf))
  expect(await server.ended).toBe(0)

  const again = await spawnServer(where)
  await whenReady(again)
  expect((await kidsOf(again.url, apiKey)).sort()).toEqual(kids.sort())
  again.signal('SIGKILL')
  await again.ended
})

test('while the server shuts down it says that it is not ready, then is gone', async () => {
  const where = join(folder, 'drain')
  mkdirSync(where)
  const server = await startServer(where)
  server.signal('SIGTERM')
  const statuses = new Set<number>()
  for (;;) {
    const response = await fetch(`${server.url}/health/ready`).catch(() => undefined)
    if (response === undefined) break
    statuses.add(response.status)
    await delay(10)
  }
  expect(statuses).toContain(503)
  expect(await server.ended).toBe(0)
})
