/**
 * The cost of held requests: memory and CPU of the server while requests wait for news of a key set,
 * in one project and in as many projects as requests; the time until a change has answered the last
 * one, and the CPU of the server for each of them then and when it is sent again. Linux.
 *
 *   node bench/held-requests.ts [count]
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createProject, registerKey } from '../test/support/server/replicas.ts'
import { cpuMicros, residentMib } from './load/usage.ts'
import { capture } from './server/capture.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const count = Number(process.argv[2] ?? 5_000)
const seconds = 20
const print = (line: string) => process.stdout.write(`${line}\n`)
const jwksPath = (project: string) => `/v1/projects/${project}/.well-known/jwks.json`

const databases = createDatabases()
const server = await startServer(await databases.create('sqlite'))
const { replica, port, pids } = server

interface OpenRequest {
  socket: Socket
  /** Resolves with the time of the response. */
  answered: Promise<number>
}

/** Sends one request on a connection of its own. */
function send(path: string, headers: string[] = []): OpenRequest {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  write(socket, path, headers)
  return { socket, answered: once(socket, 'data').then(() => performance.now()) }
}

function write(socket: Socket, path: string, headers: string[]): void {
  socket.write([`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'))
}

/** Headers of a request that waits for a change of the entity tag. */
const holding = (etag: string) => [`If-None-Match: ${etag}`, 'Prefer: wait=60']

/** Sends requests that wait for a change of the entity tag. */
async function hold(paths: string[], etag: string): Promise<OpenRequest[]> {
  const held: OpenRequest[] = []
  for (const path of paths) {
    held.push(send(path, holding(etag)))
    if (held.length % 200 === 0) await delay(20)
  }
  await delay(2_000)
  return held
}

function disconnect(requests: OpenRequest[]): void {
  for (const { socket } of requests) socket.destroy()
}

async function etagOf(project: string): Promise<string> {
  const { headers } = await capture(port, { method: 'GET', path: jwksPath(project), headers: {} })
  return headers[headers.findIndex((name) => name.toLowerCase() === 'etag') + 1] ?? ''
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

try {
  const kid = await registerKey(replica, 'default')
  const etag = await etagOf('default')
  const idle = await measure('idle server')

  const open = Array.from({ length: count }, () => send(jwksPath('default')))
  await Promise.all(open.map(({ answered }) => answered))
  const connected = await measure(`${count} idle connections`)
  disconnect(open)
  await delay(1_000)

  const held = await hold(new Array<string>(count).fill(jwksPath('default')), etag)
  const waiting = await measure(`${count} held requests, one project`)
  const kibEach = (mib: number) => (((mib - idle) * 1024) / count).toFixed(1)
  print(`per connection: ${kibEach(connected)} KiB idle, ${kibEach(waiting)} KiB held`)
  const microsEach = (since: number) => ((cpuMicros(pids) - since) / count).toFixed(0)
  const beforeChange = cpuMicros(pids)
  await replica.call('PATCH', `/v1/projects/default/jwt-keys/${kid}`, { active: false })
  const changed = performance.now()
  const times = await Promise.all(held.map(({ answered }) => answered))
  const last = Math.max(...times) - changed
  print(`all ${count} answered ${last.toFixed(0)} ms after the change was acknowledged`)
  print(`CPU of the change for each: ${microsEach(beforeChange)} µs`)
  const repeated = holding(await etagOf('default'))
  const beforeRepeat = cpuMicros(pids)
  for (const { socket } of held) write(socket, jwksPath('default'), repeated)
  await delay(2_000)
  print(`CPU of each that is sent again: ${microsEach(beforeRepeat)} µs`)
  disconnect(held)

  const names = Array.from({ length: count }, (_, i) => `bench-${i}`)
  for (let i = 0; i < count; i += 100) {
    await Promise.all(names.slice(i, i + 100).map((name) => createProject(replica, name)))
  }
  const inProjects = await hold(names.map(jwksPath), await etagOf('bench-0'))
  await measure(`${count} held requests, ${count} projects`)
  const stopping = performance.now()
  replica.signal('SIGTERM')
  const code = await replica.ended
  const ms = (performance.now() - stopping).toFixed(0)
  await Promise.all(inProjects.map(({ answered }) => answered))
  print(`SIGTERM: all ${count} answered, exit ${code} after ${ms} ms`)
  disconnect(inProjects)
} finally {
  await server.close()
  await databases.close()
}
