import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import {
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'
import { expectWithin } from '../support/timing.ts'

/** Two processes on one database, as behind a load balancer. */
const { folder } = temporaryFolder()
const env = { PUBRING_PUBLIC_URL: 'https://keys.example.com', PUBRING_LOG_LEVEL: 'warn' }
let second: ServerProcess

const first = await startServer(folder, env)
second = await spawnServer(folder, env)
await whenReady(second)
const projectId = await memberOf(await call(first, 'GET', '/v1/projects/default'), 'id')

afterAll(async () => {
  for (const server of [first, second]) {
    server.signal('SIGTERM')
    expect(await server.ended, server.output()).toBe(0)
  }
})

function call(server: ServerProcess, method: string, path: string, body?: object) {
  return fetch(server.url + path, {
    method,
    headers: { 'x-api-key': first.apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function memberOf(response: Response, name: string): Promise<string> {
  const content: Record<string, string> = JSON.parse(await response.text())
  return content[name] ?? ''
}

async function register(server: ServerProcess): Promise<string> {
  const body = { name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
  const response = await call(server, 'POST', '/v1/projects/default/jwt-keys', body)
  expect(response.status).toBe(201)
  return memberOf(response, 'kid')
}

async function documents(server: ServerProcess): Promise<{ body: string; etag: string | null }[]> {
  const paths = ['jwks.json', 'openid-configuration']
  return Promise.all(
    paths.map(async (name) => {
      const url = `${server.url}/v1/projects/${projectId}/.well-known/${name}`
      const response = await fetch(url, { redirect: 'error' })
      expect(response.status).toBe(200)
      return { body: await response.text(), etag: response.headers.get('etag') }
    }),
  )
}

test('bytes and ETag are the same on both processes, and after a restart', async () => {
  await register(first)
  await register(second)
  await register(first)
  const before = await documents(first)
  expect(await documents(second)).toEqual(before)
  second.signal('SIGTERM')
  await second.ended
  second = await spawnServer(folder, env)
  await whenReady(second)
  expect(await documents(second)).toEqual(before)
})

test('a key deactivated by one process leaves the key set of the other within a second, polled or held', async () => {
  const kid = await register(first)
  const url = `${second.url}/v1/projects/default/.well-known/jwks.json`
  await expect.poll(async () => (await fetch(url)).text()).toContain(kid)
  for (let round = 0; round < 6; round += 1) {
    const active = round % 2 === 1
    const etag = String((await fetch(url)).headers.get('etag'))
    const held = fetch(url, { headers: { 'if-none-match': etag, prefer: 'wait=30' } })
    await delay(30)
    const patch = await call(first, 'PATCH', `/v1/projects/default/jwt-keys/${kid}`, { active })
    expect(patch.status).toBe(200)
    const start = performance.now()
    const polling = (async () => {
      while ((await (await fetch(url)).text()).includes(kid) !== active) await delay(20)
      return performance.now() - start
    })()
    const response = await held
    expectWithin(1_000, performance.now() - start)
    expect((await response.text()).includes(kid)).toBe(active)
    expectWithin(1_000, await polling)
  }
})

test('an API key revoked by one process loses its streams on the other within a second', async () => {
  const created = await call(first, 'POST', '/v1/api-keys', { name: 'reader', role: 'reader' })
  const { id, apiKey }: Record<string, string> = JSON.parse(await created.text())
  const stream = await fetch(`${second.url}/v1/projects/default/events`, {
    headers: { 'x-api-key': apiKey ?? '', accept: 'text/event-stream' },
  })
  expect(stream.status).toBe(200)
  const ended = stream.text().then(
    () => 'ended',
    () => 'ended',
  )
  await delay(300)
  const revoked = await call(first, 'DELETE', `/v1/api-keys/${id}`)
  expect(revoked.status).toBe(204)
  const deleted = performance.now()
  await ended
  expectWithin(1_000, performance.now() - deleted)
})
