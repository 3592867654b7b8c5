/**
 * The cost of held requests: memory and CPU of the server while requests wait for news of a key set,
 * in one project and in as many projects as requests, alone and while another process makes 1,000
 * changes a second in other projects; the time until a change has answered the last one, and the CPU
 * of the server for each of them then and when it is sent again. Prints a table, and writes the
 * figures to bench/results/held-requests-ENGINE.json, or with fewer than 10,000 requests to
 * quick-held-requests-ENGINE.json. Linux.
 *
 *   npm run bench:held [-- count [postgres]]
 */

import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { keyChanges } from '../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../packages/server/src/features/keys/key-sets.ts'
import { findProjectRecord } from '../packages/server/src/kernel/access/stored-projects.ts'
import { newId } from '../packages/server/src/kernel/values/ids.ts'
import { isoTime } from '../packages/server/src/kernel/values/times.ts'
import { openStore } from '../packages/server/src/registry.ts'
import { fillRegistry } from './fill/registry.ts'
import {
  type Client,
  clientsAtOnce,
  holding,
  openClient,
  type Response,
} from './load/held-client.ts'
import { cpuMicros, residentMib } from './load/usage.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { spreadOf } from './report/spread.ts'
import { resultsText } from './report/table.ts'
import { serverCores } from './server/cores.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const count = Number(process.argv[2] ?? 10_000)
const seconds = 12
/** Until the garbage of what was before is collected. */
const settleMs = 25_000
/** Projects in which nothing is held. */
const otherProjects = 100
const changesPerSecond = 1_000
const burstMs = 10
const limits = { maxKeys: 50, maxJwksBytes: 51_200 }

const progress = (text: string) => process.stderr.write(`${text}\n`)
const nameOf = (index: number) => `bench-${String(index).padStart(6, '0')}`
const jwksPath = (index: number) => `/v1/projects/${nameOf(index)}/.well-known/jwks.json`

const databases = createDatabases()
const database = await databases.create(process.argv.includes('postgres') ? 'postgres' : 'sqlite')
const projects = count + otherProjects
await fillRegistry(database.url, { keys: projects, projects }, () => {})
const other = await openStore(database.url)
const server = await startServer(database)
const { replica, port, pids } = server
const figures: Figure[] = []

/** The server while nothing is held. */
interface Idle {
  mib: number
  share: number
  shareAmidChanges: number
}

interface Held {
  client: Client
  etag: string
  answered: Promise<Response | undefined>
}

/**
 * Connects a client for each of the projects, which gets its key set. Few at once: the system resets
 * connections that the server is too slow to accept.
 */
async function connectAll(indexes: number[]): Promise<{ client: Client; etag: string }[]> {
  const connected: { client: Client; etag: string }[] = []
  for (let from = 0; from < indexes.length; from += clientsAtOnce) {
    const some = indexes.slice(from, from + clientsAtOnce).map(async (index) => {
      const client = openClient(port)
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

/** The CPU time of the server over some seconds, in percent of a core. */
async function cpuShare(): Promise<number> {
  const before = cpuMicros(pids)
  await delay(seconds * 1_000)
  return ((cpuMicros(pids) - before) / (seconds * 1e6)) * 100
}

/** Gives the only key of the project another label, by this process. */
async function relabel({ projectId, kid }: { projectId: string; kid: string }): Promise<void> {
  const origin = { actor: { name: 'bench' }, requestId: newId(), time: isoTime(Date.now()) }
  const patch = { label: `label ${performance.now()}` }
  await other.commit(keyChanges.updateKey, { origin, projectId, kid, patch, limits })
}

async function keyOf(index: number): Promise<{ projectId: string; kid: string }> {
  const project = await findProjectRecord(other.reader, { name: nameOf(index) })
  const [key] = (project && (await keySetOf(other, project.id)))?.keys ?? []
  if (key === undefined) throw new Error(`${nameOf(index)} has no key`)
  return { projectId: key.projectId, kid: key.id }
}

/** The same while this process makes changes in projects in which nothing is held. */
async function cpuShareAmidChanges(): Promise<number> {
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
  const share = await cpuShare()
  clearInterval(timer)
  await Promise.all(pending)
  const rate = (made * 1_000) / (performance.now() - start)
  if (rate < 0.9 * changesPerSecond) progress(`only ${rate.toFixed(0)} changes a second`)
  return share
}

function add(name: string, unit: string, value: number, note: string, max?: number): void {
  const target = max === undefined ? {} : { target: { max } }
  figures.push({ name, server: server.name, unit, value: spreadOf([value]), note, ...target })
}

async function measureIdle(): Promise<Idle> {
  await delay(settleMs)
  const share = await cpuShare()
  const idle = { mib: residentMib(pids), share, shareAmidChanges: await cpuShareAmidChanges() }
  const clients = await connectAll(Array.from({ length: count }, () => 0))
  await delay(settleMs)
  add('memory of an idle connection', 'KiB', kibEach(idle), 'that has sent one request')
  disconnect(clients)
  return idle
}

const kibEach = ({ mib }: Idle) => ((residentMib(pids) - mib) * 1024) / count

async function measureWaiting(scope: string, idle: Idle): Promise<void> {
  await delay(settleMs)
  const note = (share: number) => `${share.toFixed(1)} % with nothing held`
  const cpu = await cpuShare()
  add(`memory of each, ${scope}`, 'KiB', kibEach(idle), 'with its connection', 20)
  add(`CPU, ${scope}`, '% of a core', cpu, note(idle.share), 1)
  const busy = await cpuShareAmidChanges()
  const name = `CPU, ${scope}, ${changesPerSecond.toLocaleString('en')} changes/s elsewhere`
  add(name, '% of a core', busy, note(idle.shareAmidChanges), 1)
}

/** A change answers all that wait for the first project; each of them is sent again. */
async function measureNews(held: Held[]): Promise<void> {
  const microsEach = (since: number) => (cpuMicros(pids) - since) / count
  const beforeChange = cpuMicros(pids)
  const { projectId, kid } = await keyOf(0)
  await replica.call('PATCH', `/v1/projects/${projectId}/jwt-keys/${kid}`, { active: false })
  const changed = performance.now()
  const answers = await answersOf(held)
  if (answers.length < count) throw new Error(`only ${answers.length} were answered`)
  const last = answers.reduce((latest, { time }) => Math.max(latest, time), 0) - changed
  add('news to the last, one project', 'ms', last, 'after the change was acknowledged', 1_000)
  add('answering each', 'µs CPU', microsEach(beforeChange), 'when the change is made')
  const repeated = holding(answers[0]?.etag ?? '')
  const beforeRepeat = cpuMicros(pids)
  for (const { client } of held) void client.get(jwksPath(0), repeated)
  await delay(2_000)
  add('holding each again', 'µs CPU', microsEach(beforeRepeat), 'when it is sent again')
}

/** At the end: all requests are answered, and none is cut off. */
async function stop(held: Held[]): Promise<void> {
  const stopping = performance.now()
  replica.signal('SIGTERM')
  const code = await replica.ended
  const ms = performance.now() - stopping
  const answered = (await answersOf(held)).length
  if (answered < count || code !== 0) throw new Error(`${answered} were answered, exit ${code}`)
  add('SIGTERM to exit, all answered', 'ms', ms, 'half a second of it is the pause before closing')
}

try {
  const measuredOn = machine()
  server.pin(serverCores)
  progress('nothing held')
  const idle = await measureIdle()
  progress('one project')
  const inOne = await hold(Array.from({ length: count }, () => 0))
  await measureWaiting('one project', idle)
  await measureNews(inOne)
  disconnect(inOne)
  progress('as many projects as requests')
  const all = Array.from({ length: count }, (_, index) => index)
  const inMany = await hold(all)
  await measureWaiting('as many projects', idle)
  await stop(inMany)
  disconnect(inMany)
  const scope = `${count.toLocaleString('en')} held requests, from one process; the server on one core. CPU over ${seconds} s.`
  const results = { machine: measuredOn, scope, reads: [], figures }
  saveResults(`${count < 10_000 ? 'quick-' : ''}held-requests-${database.engine}`, results)
  process.stdout.write(`${resultsText(results)}\n`)
} finally {
  await other.close()
  await server.close()
  await databases.close()
}
