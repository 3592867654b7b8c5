/**
 * The cost of held requests: memory and CPU of the server while requests wait for news of a key set,
 * in one project and in as many projects as requests, alone and while another process makes 1,000
 * changes a second in other projects; the time until a change has answered the last one, and the CPU
 * of the server for each of them then and when it is sent again. Linux.
 *
 *   node bench/held-requests.ts [count] [postgres]
 */
import { connect } from 'node:net'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { newId } from '../src/core/ids.ts'
import { isoTime } from '../src/core/times.ts'
import { openStore } from '../src/storage/open.ts'
import { fillRegistry } from './fill/registry.ts'
import { cpuMicros, residentMib } from './load/usage.ts'
import { machine } from './report/machine.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const count = Number(process.argv[2] ?? 10_000)
const seconds = 12
/** Below the usual length of the queue of connections that a server has not accepted yet, 511. */
const clientsAtOnce = 200
/** Projects in which nothing is held. */
const otherProjects = 100
const changesPerSecond = 1_000
const burstMs = 10
const limits = { maxKeys: 50, maxJwksBytes: 51_200 }

const print = (line: string) => process.stdout.write(`${line}\n`)
const nameOf = (index: number) => `bench-${String(index).padStart(6, '0')}`
const jwksPath = (index: number) => `/v1/projects/${nameOf(index)}/.well-known/jwks.json`

const databases = createDatabases()
const database = await databases.create(process.argv.includes('postgres') ? 'postgres' : 'sqlite')
const projects = count + otherProjects
await fillRegistry(database.url, { keys: projects, projects }, () => {})
const other = await openStore(database.url)
const server = await startServer(database)
const { replica, port, pids } = server

interface Client {
  /**
   * Sends a request once the last one is answered. Resolves with the response, or with undefined if
   * the connection ends without one.
   */
  get(path: string, headers?: string[]): Promise<Response | undefined>
  disconnect(): void
}

interface Response {
  etag: string
  time: number
}

function openClient(): Client {
  const socket = connect(port, '127.0.0.1')
  let respond: (response: Response | undefined) => void = () => {}
  socket.on('error', () => socket.destroy())
  socket.on('close', () => respond(undefined))
  socket.on('data', (chunk) => {
    const [, etag = ''] = /^etag: (.*)\r$/im.exec(chunk.toString('latin1')) ?? []
    respond({ etag, time: performance.now() })
  })
  return {
    get(path, headers = []) {
      const { promise, resolve } = Promise.withResolvers<Response | undefined>()
      respond = resolve
      socket.write([`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'))
      return promise
    },
    disconnect: () => socket.destroy(),
  }
}

interface Held {
  client: Client
  etag: string
  answered: Promise<Response | undefined>
}

/** Headers of a request that waits for a change of the entity tag. */
const holding = (etag: string) => [`If-None-Match: ${etag}`, 'Prefer: wait=60']

/**
 * Connects a client for each of the projects, which gets its key set. Few at once: the system resets
 * connections that the server is too slow to accept.
 */
async function connectAll(indexes: number[]): Promise<{ client: Client; etag: string }[]> {
  const connected: { client: Client; etag: string }[] = []
  for (let from = 0; from < indexes.length; from += clientsAtOnce) {
    const some = indexes.slice(from, from + clientsAtOnce).map(async (index) => {
      const client = openClient()
      const response = await client.get(jwksPath(index))
      if (response === undefined) throw new Error('a connection was reset')
      return { client, etag: response.etag }
    })
    connected.push(...(await Promise.all(some)))
  }
  return connected
}

/** Sends a request on each connection that waits for a change of the key set. */
async function hold(indexes: number[]): Promise<Held[]> {
  const clients = await connectAll(indexes)
  const held = clients.map(({ client, etag }, i) => {
    const answered = client.get(jwksPath(indexes[i] ?? 0), holding(etag))
    return { client, etag, answered }
  })
  await delay(2_000)
  return held
}

/** The responses, in no order. */
async function answersOf(held: Held[]): Promise<Response[]> {
  const responses = await Promise.all(held.map(({ answered }) => answered))
  return responses.filter((response) => response !== undefined)
}

function disconnect(clients: { client: Client }[]): void {
  for (const { client } of clients) client.disconnect()
}

/** Prints memory and CPU over some seconds; returns the memory in MiB. */
async function measure(label: string): Promise<number> {
  const before = cpuMicros(pids)
  await delay(seconds * 1_000)
  const share = ((cpuMicros(pids) - before) / (seconds * 1e6)) * 100
  const mib = residentMib(pids)
  print(`${label}: ${mib.toFixed(0)} MiB resident, ${share.toFixed(1)} % of a core`)
  return mib
}

/** Gives the only key of the project another label, by this process. */
async function relabel({ projectId, kid }: { projectId: string; kid: string }): Promise<void> {
  const origin = { actor: { name: 'bench' }, requestId: newId(), time: isoTime(Date.now()) }
  const patch = { label: `label ${performance.now()}` }
  await other.commit({ type: 'key.update', origin, projectId, kid, patch, limits })
}

async function keyOf(index: number): Promise<{ projectId: string; kid: string }> {
  const project = await other.findProject({ name: nameOf(index) })
  const [key] = (project && (await other.keySet(project.id)))?.keys ?? []
  if (key === undefined) throw new Error(`${nameOf(index)} has no key`)
  return { projectId: key.projectId, kid: key.id }
}

/** Runs the action while this process makes changes in projects in which nothing is held. */
async function amidChanges(action: () => Promise<unknown>): Promise<void> {
  const keys = await Promise.all(Array.from({ length: otherProjects }, (_, i) => keyOf(count + i)))
  const pending = new Set<Promise<void>>()
  let made = 0
  const start = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - start) * changesPerSecond) / 1_000
    while (made + pending.size < due && pending.size < otherProjects) {
      const key = keys[(made + pending.size) % keys.length]
      if (key === undefined) return
      const change = relabel(key).then(() => {
        made += 1
        pending.delete(change)
      })
      pending.add(change)
    }
  }, burstMs)
  await action()
  clearInterval(timer)
  await Promise.all(pending)
  const rate = (made * 1_000) / (performance.now() - start)
  print(`(${rate.toFixed(0)} changes a second elsewhere)`)
}

try {
  const { cpu, cores, node, load } = machine()
  print(`${cpu}, ${cores} cores, Node ${node}, ${database.engine}; load average before: ${load}`)
  const all = Array.from({ length: count }, (_, index) => index)
  const same = all.map(() => 0)
  const idle = await measure('idle server')
  await amidChanges(() => measure('idle server, changes elsewhere'))

  const open = await connectAll(same)
  const connected = await measure(`${count} idle connections`)
  disconnect(open)
  await delay(1_000)

  const held = await hold(same)
  const waiting = await measure(`${count} held requests, one project`)
  await amidChanges(() => measure(`${count} held requests, one project, changes elsewhere`))
  const kibEach = (mib: number) => (((mib - idle) * 1024) / count).toFixed(1)
  print(`per connection: ${kibEach(connected)} KiB idle, ${kibEach(waiting)} KiB held`)
  const microsEach = (since: number) => ((cpuMicros(pids) - since) / count).toFixed(0)
  const beforeChange = cpuMicros(pids)
  const { projectId, kid } = await keyOf(0)
  await replica.call('PATCH', `/v1/projects/${projectId}/jwt-keys/${kid}`, { active: false })
  const changed = performance.now()
  const answers = await answersOf(held)
  const last = answers.reduce((latest, { time }) => Math.max(latest, time), 0) - changed
  print(`${answers.length} answered, the last ${last.toFixed(0)} ms after the acknowledged change`)
  print(`CPU of the change for each: ${microsEach(beforeChange)} µs`)
  const repeated = holding(answers[0]?.etag ?? '')
  const beforeRepeat = cpuMicros(pids)
  for (const { client } of held) void client.get(jwksPath(0), repeated)
  await delay(2_000)
  print(`CPU of each that is sent again: ${microsEach(beforeRepeat)} µs`)
  disconnect(held)

  const inProjects = await hold(all)
  const label = `${count} held requests, ${count} projects`
  await measure(`${label}, while their ledgers are replayed`)
  await measure(label)
  await amidChanges(() => measure(`${label}, changes elsewhere`))
  const stopping = performance.now()
  replica.signal('SIGTERM')
  const code = await replica.ended
  const ms = (performance.now() - stopping).toFixed(0)
  const answered = (await answersOf(inProjects)).length
  print(`SIGTERM: ${answered} of ${count} answered, exit ${code} after ${ms} ms`)
  disconnect(inProjects)
} finally {
  await other.close()
  await server.close()
  await databases.close()
}
