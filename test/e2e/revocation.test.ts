import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ServerProcess,
  spawnServer,
  startServer,
  temporaryFolder,
  whenReady,
} from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
let first: ServerProcess
let second: ServerProcess
let admin: string

/** Two processes on one database file. */
beforeAll(async () => {
  const server = await startServer(folder)
  admin = server.apiKey
  first = server
  second = await started()
})
afterAll(async () => {
  for (const server of [first, second]) server.signal('SIGKILL')
  await Promise.all([first.ended, second.ended])
  remove()
})

async function started(): Promise<ServerProcess> {
  const server = await spawnServer(folder)
  await whenReady(server)
  return server
}

interface Answer {
  status: number
  body: string
  /** Of this end of the connection: the same one for two answers is the same connection. */
  port: number | undefined
}

/** One connection that is kept open. */
function connect(server: ServerProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (secret: string, method: string, path: string, body?: object): Promise<Answer> =>
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
  return { ask, close: () => agent.destroy() }
}
type Connection = ReturnType<typeof connect>

/** What takes rights away, and the status of what could be done before. */
const kinds = {
  revoke: { change: ['DELETE'], status: 401 },
  'switch off': { change: ['PATCH', { active: false }], status: 401 },
  demote: { change: ['PATCH', { role: 'reader' }], status: 403 },
  expire: { change: undefined, status: 401 },
} as const
const rounds = 25
/** Rounds that go on side by side, each with connections of its own. */
const lanes = 5
const useless: { secret: string; status: number }[] = []

/** Something that a writer may do, and that changes nothing. */
const use = (connection: Connection, secret: string) =>
  connection.ask(secret, 'DELETE', '/v1/projects/default/jwt-keys/none')

async function round(kind: keyof typeof kinds, here: Connection, there: Connection): Promise<void> {
  const { change, status } = kinds[kind]
  const body = { name: kind, role: 'writer' }
  const created = JSON.parse((await here.ask(admin, 'POST', '/v1/api-keys', body)).body)
  const { id, apiKey } = created
  const ports: (number | undefined)[] = []
  for (const connection of [here, there, here, there]) {
    const answer = await use(connection, apiKey)
    expect(answer.status).toBe(404)
    ports.push(answer.port)
  }
  const expireTime = new Date(Date.now() + 300).toISOString()
  const [method, patch] = change ?? ['PATCH', { expireTime }]
  const changed = await here.ask(admin, method, `/v1/api-keys/${id}`, patch)
  expect([200, 204]).toContain(changed.status)
  if (kind === 'expire') await delay(Date.parse(expireTime) - Date.now() + 2)
  const after = await Promise.all([use(there, apiKey), use(here, apiKey)])
  expect(after.map((answer) => answer.status)).toEqual([status, status])
  // On the connections that were open all the time.
  expect(new Set([...ports, ...after.map(({ port }) => port)]).size).toBe(2)
  useless.push({ secret: apiKey, status })
}

describe('an API key that lost its rights has lost them in the next request', () => {
  test.each(Object.keys(kinds) as (keyof typeof kinds)[])(
    '%s: on open connections and in the other process, 25 times of 25',
    async (kind) => {
      const lane = async () => {
        const connections = [connect(first), connect(second)] as const
        for (let n = 0; n < rounds / lanes; n += 1) {
          const [here, there] = n % 2 === 0 ? connections : [connections[1], connections[0]]
          await round(kind, here, there)
        }
        for (const connection of connections) connection.close()
      }
      await Promise.all(Array.from({ length: lanes }, lane))
    },
  )

  test('and after a restart, 100 times of 100', async () => {
    first.signal('SIGTERM')
    expect(await first.ended).toBe(0)
    first = await started()
    const connection = connect(first)
    expect(useless).toHaveLength(Object.keys(kinds).length * rounds)
    for (const { secret, status } of useless) {
      expect((await use(connection, secret)).status).toBe(status)
    }
    expect((await connection.ask(admin, 'GET', '/v1/api-keys/self')).status).toBe(200)
    connection.close()
  })

  test('its lastUseTime was written at shutdown, and is no later than its end', async () => {
    const connection = connect(first)
    const list = JSON.parse((await connection.ask(admin, 'GET', '/v1/api-keys')).body)
    const expired = list.filter(({ name }: { name: string }) => name === 'expire')
    expect(expired).toHaveLength(rounds)
    for (const { lastUseTime, expireTime } of expired) expect(lastUseTime < expireTime).toBe(true)
    connection.close()
  })
})
