import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createServerClient, highLimits, type ServerClient } from '../support/server/client.ts'
import { stopServer, workerPids } from '../support/server/command.ts'
import {
  readJson,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
let server: ServerProcess & { apiKey: string }
let client: ServerClient
const acknowledged: string[] = []
const keys = '/v1/projects/default/jwt-keys'

beforeAll(async () => {
  server = await startServer(folder, {
    ...highLimits,
    PUBRING_WORKERS: '2',
  })
  client = createServerClient(server, server.apiKey)
})
afterAll(async () => {
  await stopServer(server)
  remove()
})

const wait = { timeout: 20_000, interval: 100 }

/** Sends each request on a new connection, so that every worker gets some. */
function sendOnNewConnection(path: string, apiKey = server.apiKey): Promise<Response> {
  return fetch(server.url + path, { headers: { 'X-Api-Key': apiKey, Connection: 'close' } })
}

test('the first start happens once: one project, one API key, one welcome message', async () => {
  await vi.waitUntil(() => workerPids(server).length === 2, wait)
  expect(server.output().match(/PUBRING_API_KEY=/g)).toHaveLength(1)
  const projects = await client.send('GET', '/v1/projects')
  expect(JSON.parse(projects?.text ?? '')).toMatchObject([{ name: 'default' }])
  expect(JSON.parse((await client.send('GET', '/v1/api-keys'))?.text ?? '')).toHaveLength(1)
})

test('every worker immediately shows what one acknowledged, and rejects a revoked API key', async () => {
  for (let round = 0; round < 10; round += 1) {
    acknowledged.push(String(await client.create()))
    const lists = await Promise.all(Array.from({ length: 6 }, () => sendOnNewConnection(keys)))
    for (const list of lists) {
      const kids = await readJson<{ id: string }[]>(list)
      expect(kids.map(({ id }) => id)).toEqual(acknowledged)
    }
  }
  const body = { name: 'brief', role: 'reader' }
  const created = JSON.parse((await client.send('POST', '/v1/api-keys', body))?.text ?? '')
  for (let round = 0; round < 6; round += 1)
    expect((await sendOnNewConnection(keys, created.apiKey)).status).toBe(200)
  await client.send('DELETE', `/v1/api-keys/${created.id}`)
  await delay(1_000)
  for (let round = 0; round < 6; round += 1)
    expect((await sendOnNewConnection(keys, created.apiKey)).status).toBe(401)
})

test('within a second every worker serves the same bytes and ETag of the key set, without the inactive key', async () => {
  const [kid = ''] = acknowledged
  const jwks = '/v1/projects/default/.well-known/jwks.json'
  for (let round = 0; round < 6; round += 1) await sendOnNewConnection(jwks)
  await client.send('PATCH', `${keys}/${kid}`, { active: false })
  await delay(1_000)
  const responses = await Promise.all(Array.from({ length: 8 }, () => sendOnNewConnection(jwks)))
  const seen = await Promise.all(
    responses.map(async (response) => `${response.headers.get('etag')} ${await response.text()}`),
  )
  expect(new Set(seen).size).toBe(1)
  expect(seen[0]).not.toContain(kid)
})

test('SIGTERM while a second worker is starting ends all of them with exit code 0', async () => {
  const other = temporaryFolder()
  const starting = await startServer(other.folder, { ...highLimits, PUBRING_WORKERS: '2' })
  // The server is ready when its first worker listens, at which point the second one is forked.
  starting.signal('SIGTERM')
  expect(await starting.ended).toBe(0)
  other.remove()
})
