import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { type ServerProcess, startServer, temporaryFolder } from '../support/server/process.ts'
import { expectWithin } from '../support/timing.ts'

/** Two processes on one database file, as behind a load balancer. */
const { folder } = temporaryFolder()
const env = { PUBRING_PUBLIC_URL: 'https://keys.example.com' }
const started = await startServer(folder, env)
const second = await startServer(folder, env)
const admin = started.apiKey
let first: ServerProcess = started

async function call(
  server: ServerProcess,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, string>> {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'x-api-key': admin, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(response.ok).toBe(true)
  return response.status === 204 ? {} : JSON.parse(await response.text())
}

const keysUrl = '/v1/projects/default/jwt-keys'

async function register(server: ServerProcess): Promise<string> {
  const { publicKeyPem } = ecKey()
  const body = { name: 'n', algorithm: 'ES256', publicKeyPem }
  const { kid = '' } = await call(server, 'POST', keysUrl, body)
  return kid
}

const { id: projectId } = await call(started, 'GET', '/v1/projects/default')

async function documents(server: ServerProcess): Promise<{ body: string; etag: string | null }[]> {
  const read = async (name: string) => {
    const url = `${server.url}/v1/projects/${projectId}/.well-known/${name}`
    const response = await fetch(url, { redirect: 'error' })
    expect(response.status).toBe(200)
    return { body: await response.text(), etag: response.headers.get('etag') }
  }
  return Promise.all(['jwks.json', 'openid-configuration'].map(read))
}

test('bytes and ETags of the published documents are the same on both', async () => {
  for (const server of [first, second, first]) await register(server)
  expect(await documents(second)).toEqual(await documents(first))
})

test('a key deactivated by one leaves the key set of the other within a second, polled or held', async () => {
  const kid = await register(first)
  const url = `${second.url}/v1/projects/default/.well-known/jwks.json`
  await expect.poll(async () => (await fetch(url)).text()).toContain(kid)
  for (let round = 0; round < 6; round += 1) {
    const active = round % 2 === 1
    const etag = String((await fetch(url)).headers.get('etag'))
    const held = fetch(url, { headers: { 'if-none-match': etag, prefer: 'wait=30' } })
    await delay(30)
    await call(first, 'PATCH', `${keysUrl}/${kid}`, { active })
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

test('an API key revoked by one loses its streams on the other within a second', async () => {
  const reader = { name: 'reader', role: 'reader' }
  const { id, apiKey = '' } = await call(first, 'POST', '/v1/api-keys', reader)
  const stream = await fetch(`${second.url}/v1/projects/default/events`, {
    headers: { 'x-api-key': apiKey, accept: 'text/event-stream' },
  })
  expect(stream.status).toBe(200)
  const ended = stream.text().catch(() => '')
  await delay(300)
  await call(first, 'DELETE', `/v1/api-keys/${id}`)
  const deleted = performance.now()
  await ended
  expectWithin(1_000, performance.now() - deleted)
})

interface TestResponse {
  status: number
  body: string
  /** The client's port, which identifies the connection. */
  port: number | undefined
}

/** A client with one persistent connection. */
function connect(server: ServerProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = (
    secret: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<TestResponse> =>
    new Promise((resolve, reject) => {
      const headers = { 'X-Api-Key': secret, 'Content-Type': 'application/json' }
      const sent = request(server.url + path, { agent, method, headers }, (response) => {
        const port = response.socket.localPort
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, port }))
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return { send, close: () => agent.destroy() }
}
type Connection = ReturnType<typeof connect>

/** Changes that remove rights, and the status of a request that was allowed before. */
const kinds = {
  revoke: { change: ['DELETE'], status: 401 },
  deactivate: { change: ['PATCH', { active: false }], status: 401 },
  demote: { change: ['PATCH', { role: 'reader' }], status: 403 },
  expire: { change: undefined, status: 401 },
} as const
const rounds = 25
/** Concurrent rounds, each with its own connections. */
const concurrency = 5
interface RevokedKey {
  id: string
  secret: string
  status: number
}
/** By kind, so that a test that is tried again replaces what it had. */
const revoked = new Map<string, RevokedKey[]>()

/** A request that a writer may send and that changes nothing. */
const use = (connection: Connection, secret: string) =>
  connection.send(secret, 'DELETE', `${keysUrl}/none`)

async function round(kind: keyof typeof kinds, here: Connection, there: Connection): Promise<void> {
  const { change, status } = kinds[kind]
  const body = { name: kind, role: 'writer' }
  const created = JSON.parse((await here.send(admin, 'POST', '/v1/api-keys', body)).body)
  const { id, apiKey } = created
  const ports: (number | undefined)[] = []
  for (const connection of [here, there, here, there]) {
    const response = await use(connection, apiKey)
    expect(response).toMatchObject({ status: 404 })
    ports.push(response.port)
  }
  const expireTime = new Date(Date.now() + 1_000).toISOString()
  const [method, patch] = change ?? ['PATCH', { expireTime }]
  const changed = await here.send(admin, method, `/v1/api-keys/${id}`, patch)
  expect([200, 204]).toContain(changed.status)
  // A timer can fire early.
  if (kind === 'expire') while (Date.now() <= Date.parse(expireTime)) await delay(50)
  const after = await Promise.all([use(there, apiKey), use(here, apiKey)])
  expect(after.map((response) => response.status)).toEqual([status, status])
  // The connections were open all the time.
  expect(new Set([...ports, ...after.map(({ port }) => port)]).size).toBe(2)
  revoked.get(kind)?.push({ id, secret: apiKey, status })
}

describe('an API key without its rights is rejected with the next request', () => {
  test.each(Object.keys(kinds) as (keyof typeof kinds)[])(
    '%s: on open connections and in the other process, 25 of 25 times',
    async (kind) => {
      revoked.set(kind, [])
      const runRounds = async () => {
        const connections = [connect(first), connect(second)] as const
        for (let n = 0; n < rounds / concurrency; n += 1) {
          const [here, there] = n % 2 === 0 ? connections : [connections[1], connections[0]]
          await round(kind, here, there)
        }
        for (const connection of connections) connection.close()
      }
      await Promise.all(Array.from({ length: concurrency }, runRounds))
    },
  )

  test('and after a restart, 100 of 100 times; published is what was before', async () => {
    const published = await documents(first)
    first.signal('SIGTERM')
    expect(await first.ended, first.output()).toBe(0)
    first = await startServer(folder, env)
    expect(await documents(first)).toEqual(published)
    const connection = connect(first)
    const all = [...revoked.values()].flat()
    expect(all).toHaveLength(Object.keys(kinds).length * rounds)
    for (const { secret, status } of all) {
      expect((await use(connection, secret)).status).toBe(status)
    }
    expect((await connection.send(admin, 'GET', '/v1/api-keys/self')).status).toBe(200)
    connection.close()
  })

  test('its lastUseTime is written at shutdown and precedes its expiry', async () => {
    const connection = connect(first)
    const list = JSON.parse((await connection.send(admin, 'GET', '/v1/api-keys')).body)
    const ids = revoked.get('expire')?.map(({ id }) => id)
    const expired = list.filter(({ id }: { id: string }) => ids?.includes(id))
    expect(expired).toHaveLength(rounds)
    for (const { lastUseTime, expireTime } of expired) expect(lastUseTime < expireTime).toBe(true)
    connection.close()
  })
})
