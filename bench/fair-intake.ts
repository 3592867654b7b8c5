/**
 * The time that registering an RSA-2048 key takes with one API key, alone and while another API key
 * keeps 150 checks of RSA-8192 keys open. The target is twice the undisturbed p99 and one running
 * check, because a check is never interrupted; how long checks run is measured at the same time, from
 * the intervals at which the flood is answered.
 *
 *   npm run bench:fair-intake [registrations]
 */
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createProject, type Replica } from '../test/support/server/replicas.ts'
import { rsaGroups } from './creates/rsa-moduli.ts'
import type { Flood } from './hostile/flood.ts'
import { machine } from './report/machine.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const count = Number(process.argv[2] ?? 200)
const clients = 150
/** The intake's default. */
const threads = Math.max(1, availableParallelism() - 1)
const settleMs = 3_000
const primeCount = 64
const slowKey = readFileSync(
  new URL('../test/fixtures/keys/rsa/bits-8192.pem', import.meta.url),
  'utf8',
)

interface Latencies {
  p50: number
  p99: number
  slowest: number
}

function percentiles(times: number[]): Latencies {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), slowest: at(1 - 1 / sorted.length) }
}

/** An API key of its own, so that it does not share turns with the flood. */
async function createApiKey(replica: Replica, name: string, role: string): Promise<string> {
  const { status, body } = await replica.call('POST', '/v1/api-keys', { name, role })
  if (status !== 201) throw new Error(`no API key: ${status} ${body}`)
  return JSON.parse(body).apiKey
}

/** Sends a request and returns its duration in milliseconds; any other status ends the benchmark. */
async function time(url: string, apiKey: string, body: object, expected: number): Promise<number> {
  const headers = { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' }
  const start = performance.now()
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== expected) throw new Error(`${url}: ${response.status} ${text}`)
  return performance.now() - start
}

function row(label: string, ...cells: string[]): void {
  process.stdout.write(`${label.padEnd(34)}${cells.map((cell) => cell.padStart(12)).join('')}\n`)
}

function print(label: string, { p50, p99, slowest }: Latencies): void {
  row(label, ...[p50, p99, slowest].map((ms) => `${ms.toFixed(1)} ms`))
}

const databases = createDatabases()
const server = await startServer(await databases.create('sqlite'))
const { replica } = server
const { url } = replica
const child = fork(new URL('./hostile/flood.ts', import.meta.url))
try {
  const groups = await rsaGroups(2_048, primeCount)
  const keys = groups.flatMap((pems, group) => pems.map((pem) => ({ project: `b-${group}`, pem })))
  if (keys.length < 2 * count) throw new Error(`at most ${keys.length / 2} registrations`)
  for (let group = 0; group < groups.length; group += 1) await createProject(replica, `b-${group}`)
  const writer = await createApiKey(replica, 'honest', 'writer')
  const apiKey = await createApiKey(replica, 'flood', 'reader')
  const remaining = keys.values()

  async function register(): Promise<Latencies> {
    const times: number[] = []
    for (const { project, pem } of remaining.take(count)) {
      const path = `${url}/v1/projects/${project}/jwt-keys`
      const body = { name: 'bench', algorithm: 'RSA', publicKeyPem: pem }
      times.push(await time(path, writer, body, 201))
    }
    return percentiles(times)
  }

  const { cpu, cores, node, load } = machine()
  process.stdout.write(
    `${cpu}, ${cores} cores, Node ${node}; load average before: ${load}\n${count} registrations, one after the other\n\n`,
  )
  const alone = await register()
  const message: Flood = { url, apiKey, publicKeyPem: slowKey, clients }
  const answers: number[] = []
  child.on('message', () => answers.push(performance.now()))
  child.send(message)
  await delay(settleMs)
  answers.length = 0
  const flooded = await register()
  const intervals = answers
    .slice(1)
    .map((time, index) => (time - (answers[index] ?? time)) * threads)
  const checks = percentiles(intervals)
  row('', 'p50', 'p99', 'slowest')
  print('RSA-2048 registration, alone', alone)
  print(`while ${clients} RSA-8192 checks wait`, flooded)
  print('one running RSA-8192 check', checks)
  const bound = 2 * alone.p99 + checks.p99
  const verdict = flooded.p99 <= bound ? 'met' : 'missed'
  process.stdout.write(`\ntarget for the p99: ${bound.toFixed(1)} ms, ${verdict}\n`)
} finally {
  child.kill()
  await server.close()
  await databases.close()
}
