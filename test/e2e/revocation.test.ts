import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'

const { folder } = temporaryFolder()
/** Two processes on one database file. */
const started = await startServer(folder)
const second = await startReady()
const admin = started.apiKey
let first: ServerProcess = started

async function startReady(): Promise<ServerProcess> {
  const server = await spawnServer(folder)
  await whenReady(server)
  return server
}

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
  connection.send(secret, 'DELETE', '/v1/projects/default/jwt-keys/none')

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

  test('and after a restart, 100 of 100 times', async () => {
    first.signal('SIGTERM')
    expect(await first.ended).toBe(0)
    first = await startReady()
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
