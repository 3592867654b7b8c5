/**
 * What others feel while RSA keys of 4096 bits are registered as fast as they can be: the time that
 * the list of keys and the health page take, asked by another process, beside the same without load.
 *
 *   npm run bench:intake [rounds]
 */
import { fork } from 'node:child_process'
import { generatePrime } from 'node:crypto'
import { once } from 'node:events'
import { cpus, loadavg, totalmem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { encode, encodeBitString, encodeInteger, tag } from '../src/core/intake/der.ts'
import { minimalOctets } from '../src/core/intake/octets.ts'
import { writePem } from '../src/core/intake/pem.ts'
import { encodeOid } from '../src/core/intake/spki-writer.ts'
import { jsonOf, type ServerProcess, startServer, temporaryFolder } from '../test/support/server.ts'
import type { Latencies, LatencyTask } from './latency.ts'

const clients = 4
const seconds = 8
const primeCount = 48

type Server = ServerProcess & { apiKey: string }

function makePrime(): Promise<bigint> {
  return new Promise((resolve, reject) => {
    generatePrime(2048, { bigint: true }, (error, prime) => {
      if (error) reject(error)
      else resolve(prime)
    })
  })
}

/**
 * Moduli of 4096 bits, in groups without a common prime: a tournament of a few primes, whose rounds
 * pair each of them with another one. (A fresh pair for every key would take minutes to make.)
 */
async function tournament(): Promise<bigint[][]> {
  const primes = await Promise.all(Array.from({ length: primeCount }, makePrime))
  const [fixed = 1n, ...circle] = primes
  return circle.map((_, round) => {
    const turned = [...circle.slice(round), ...circle.slice(0, round)]
    const line = [fixed, ...turned]
    return line.slice(0, primeCount / 2).map((p, i) => p * (line.at(-1 - i) ?? 1n))
  })
}

function publicPem(n: bigint): string {
  const numbers = encode(
    tag.sequence,
    encodeInteger(minimalOctets(n)),
    encodeInteger(Uint8Array.of(1, 0, 1)),
  )
  const algorithm = encode(
    tag.sequence,
    encodeOid('1.2.840.113549.1.1.1'),
    Uint8Array.of(tag.null, 0),
  )
  return writePem(encode(tag.sequence, algorithm, encodeBitString(numbers)))
}

async function post(server: Server, path: string, body: object): Promise<Response> {
  const headers = { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' }
  return fetch(`${server.url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Registers keys from several clients until it is told to stop; answers how many were taken. */
function registerAll(server: Server, keys: Iterator<[project: string, publicKeyPem: string]>) {
  const run = { stopped: false, registered: 0, refused: 0 }
  const client = async () => {
    for (let next = keys.next(); !run.stopped && next.done !== true; next = keys.next()) {
      const [project, publicKeyPem] = next.value
      const body = { name: 'bench', algorithm: 'RS256', publicKeyPem }
      const response = await post(server, `/projects/${project}/jwt-keys`, body)
      await response.arrayBuffer()
      if (response.status === 201) run.registered += 1
      else run.refused += 1
    }
  }
  const done = Promise.all(Array.from({ length: clients }, client))
  return {
    async stop() {
      run.stopped = true
      await done
      return run
    },
  }
}

async function measure(task: LatencyTask): Promise<Latencies> {
  const child = fork(new URL('./latency.ts', import.meta.url))
  child.send(task)
  const [answer] = await once(child, 'message')
  return answer
}

async function* rounds(server: Server, count: number) {
  const groups = await tournament()
  for (const [index] of groups.entries())
    await post(server, '/projects', { name: `bench-${index}` })
  const keys = groups
    .flatMap((group, index) => group.map((n): [string, string] => [`bench-${index}`, publicPem(n)]))
    .values()
  const task = { url: server.url, apiKey: server.apiKey, project: 'list', seconds }
  // Caches and compilers are warm before anything is measured.
  await measure({ ...task, seconds: 2 })
  for (let round = 0; round < count; round += 1) {
    yield { load: 'none', keysPerSecond: 0, ...(await measure(task)) }
    const start = performance.now()
    const clients = registerAll(server, keys)
    const latencies = await measure(task)
    const { registered, refused } = await clients.stop()
    if (refused > 0) throw new Error(`${refused} keys were refused`)
    const keysPerSecond = (registered * 1_000) / (performance.now() - start)
    yield { load: 'RSA-4096', keysPerSecond, ...latencies }
    await delay(500)
  }
}

function row(...cells: (string | number)[]): void {
  const texts = cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(1) : cell))
  process.stdout.write(`${texts.map((text) => text.padStart(12)).join('')}\n`)
}

const { folder, remove } = temporaryFolder()
const server = await startServer(folder, { PUBRING_LOG_LEVEL: 'info' })
try {
  await post(server, '/projects', { name: 'list' })
  for (const n of (await tournament())[0]?.slice(0, 3) ?? []) {
    const body = { name: 'listed', algorithm: 'RS256', publicKeyPem: publicPem(n) }
    await jsonOf(await post(server, '/projects/list/jwt-keys', body))
  }
  const [model] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  const load = loadavg()[0]?.toFixed(1)
  process.stdout.write(
    `${model?.model}, ${cpus().length} processors, ${memory} GB, Node ${process.version}; load average before: ${load}\n` +
      `${clients} clients register, another process asks for list and health; milliseconds\n\n`,
  )
  row('load', 'keys/s', 'list p50', 'list p99', 'health p50', 'health p99', 'slowest')
  for await (const { load: what, keysPerSecond, list, health } of rounds(
    server,
    Number(process.argv[2] ?? 3),
  )) {
    const slowest = Math.max(list.slowest, health.slowest)
    row(what, keysPerSecond, list.p50, list.p99, health.p50, health.p99, slowest)
  }
} finally {
  server.signal('SIGKILL')
  await server.ended
  remove()
}
