/**
 * Latency of a key set while large imports run: 10,000 P-256 keys into one project and 200 RSA-4096
 * keys into another by `pubring import`, while the key set of a third one is requested 50 times a
 * second.
 *
 *   npm run bench:import [-- postgres]
 */
import { execFile } from 'node:child_process'
import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createProject, registerKey } from '../test/support/server/replicas.ts'
import { startGenerator } from './load/client.ts'
import { captureCall } from './server/capture.ts'
import { allCores } from './server/cores.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const main = join(import.meta.dirname, '../packages/cli/src/main.ts')
const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
const [ecKeys, rsaKeys] = [10_000, 200]
const idleMs = 5_000
const print = (line: string) => process.stdout.write(`${line}\n`)

const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()

/** Generating RSA-4096 keys takes a second each, so they are kept for the next run. */
async function rsaFile(): Promise<string> {
  const file = join(tmpdir(), `pubring-bench-${rsaKeys}-rsa4096.pem`)
  if (existsSync(file)) return file
  print(`Generating ${rsaKeys} RSA-4096 keys, once.`)
  const generate = promisify(generateKeyPair)
  const pairs = Array.from({ length: rsaKeys }, () => generate('rsa', { modulusLength: 4096 }))
  const pems = (await Promise.all(pairs)).map(({ publicKey }) => pemOf(publicKey))
  writeFileSync(file, pems.join('\n'))
  return file
}

/** Inactive keys, in the form in which the API lists them. */
function ecFile(): string {
  const keys = Array.from({ length: ecKeys }, (_, index) => ({
    label: `key ${index}`,
    algorithm: 'ES256',
    publicKeyPem: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey),
    active: false,
  }))
  const file = join(folder, 'ec.json')
  writeFileSync(file, JSON.stringify(keys))
  return file
}

const imports = [
  { name: `${ecKeys} P-256 keys`, file: ecFile(), project: 'ec' },
  { name: `${rsaKeys} RSA-4096 keys`, file: await rsaFile(), project: 'rsa' },
]
const databases = createDatabases()
const database = await databases.create(process.argv[2] === 'postgres' ? 'postgres' : 'sqlite')
const server = await startServer(database)
const { replica, port } = server
const generator = startGenerator(allCores)
try {
  const quiet = await createProject(replica, 'quiet')
  for (let count = 0; count < 3; count += 1) await registerKey(replica, quiet)
  const path = `/v1/projects/${quiet}/.well-known/jwks.json`
  const call = await captureCall(port, { method: 'GET', path, headers: {} })

  /** Requests the key set until the work is done, and prints the latencies. */
  async function measureDuring(name: string, work: Promise<unknown>): Promise<void> {
    const task = { port, pids: [], connections: 32, calls: [call], rate: 50 }
    const { answered, seconds, latency } = await generator.run(task, work)
    const [p50, p99, slowest] = [latency.p50, latency.p99, latency.slowest].map((ms) =>
      ms.toFixed(1),
    )
    print(
      `${name}: ${seconds.toFixed(1)} s; ${answered} key sets: p50 ${p50} ms, p99 ${p99} ms, slowest ${slowest} ms`,
    )
  }

  await measureDuring('no import', delay(idleMs))
  const env = {
    PATH: process.env.PATH,
    PUBRING_URL: replica.url,
    PUBRING_API_KEY: replica.apiKey,
  }
  for (const { name, file, project } of imports) {
    await createProject(replica, project)
    const args = [main, 'import', file, '--project', project]
    const work = promisify(execFile)(process.execPath, args, { env, maxBuffer: 2 ** 28 })
    await measureDuring(name, work)
    print((await work).stderr.trim())
  }
} finally {
  generator.close()
  await server.close()
  await databases.close()
  rmSync(folder, { recursive: true })
}
