import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  readJson,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'

const { folder } = temporaryFolder()

function freshPem(): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return publicKey.export({ format: 'pem', type: 'spki' }).toString()
}

/** Creates keys until the server is gone, and adds the acknowledged kids. */
async function createUntilGone(url: string, apiKey: string, acknowledged: string[]): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/v1/projects/default/jwt-keys`, {
      method: 'POST',
      headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'k', algorithm: 'ES256', publicKeyPem: freshPem() }),
    }).catch(() => undefined)
    if (response === undefined) return
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

test('kill -9 during creates loses no acknowledged key', async () => {
  const env = { PUBRING_MAX_KEYS_PER_PROJECT: '10000', PUBRING_MAX_JWKS_BYTES: '16777216' }
  let server = await startServer(folder, env)
  const { apiKey } = server
  const acknowledged: string[] = []
  for (let round = 0; round < 4; round += 1) {
    const writers = Array.from({ length: 16 }, () =>
      createUntilGone(server.url, apiKey, acknowledged),
    )
    const before = acknowledged.length
    while (acknowledged.length < before + 6) await delay(10)
    await delay(200 * Math.random())
    server.signal('SIGKILL')
    await server.ended
    await Promise.all(writers)
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
