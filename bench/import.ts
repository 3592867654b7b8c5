/**
 * What a large import does to those who ask for key sets meanwhile: 10,000 P-256 keys into one
 * project and 200 RSA-4096 keys into another by `pubring import`, while the key set of a third one is
 * asked for 50 times a second. Run: `npm run bench:import`, on PostgreSQL
 * `npm run bench:import -- postgres`.
 */
import { execFile, spawn } from 'node:child_process'
import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createPostgres } from '../test/support/postgres/server.ts'

const port = 18_081
const url = `http://127.0.0.1:${port}`
const main = join(import.meta.dirname, '../src/main.ts')
const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
const [ecKeys, rsaKeys] = [10_000, 200]
/** Milliseconds between two requests for the key set. */
const interval = 20
const print = (line: string) => process.stdout.write(`${line}\n`)

const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()

function ecPem(): string {
  return pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)
}

/** RSA-4096 keys take a second each to make, so they are kept for the next run. */
async function rsaFile(): Promise<string> {
  const file = join(tmpdir(), `pubring-bench-${rsaKeys}-rsa4096.pem`)
  if (existsSync(file)) return file
  print(`Making ${rsaKeys} RSA-4096 keys, once.`)
  const make = promisify(generateKeyPair)
  const pairs = Array.from({ length: rsaKeys }, () => make('rsa', { modulusLength: 4096 }))
  const pems = (await Promise.all(pairs)).map(({ publicKey }) => pemOf(publicKey))
  writeFileSync(file, pems.join('\n'))
  return file
}

/** Keys as the API lists them: switched off. */
function ecFile(): string {
  const keys = Array.from({ length: ecKeys }, (_, index) => ({
    label: `key ${index}`,
    algorithm: 'ES256',
    publicKeyPem: ecPem(),
    active: false,
  }))
  const file = join(folder, 'ec.json')
  writeFileSync(file, JSON.stringify(keys))
  return file
}

async function serve(databaseUrl: string): Promise<{ apiKey: string; stop(): void }> {
  const env = {
    PATH: process.env.PATH,
    PUBRING_DATABASE_URL: databaseUrl,
    PUBRING_PORT: String(port),
    PUBRING_LOG_LEVEL: 'warn',
    PUBRING_MAX_KEYS_PER_PROJECT: '10000',
    PUBRING_MAX_JWKS_BYTES: '1000000',
  }
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  for (;;) {
    const [apiKey] = /pubring_\w+/.exec(output) ?? []
    if (apiKey !== undefined) return { apiKey, stop: () => child.kill() }
    await delay(50)
  }
}

/** Milliseconds from when each request was due to its answer, until the work is done. */
async function measured(project: string, work: Promise<unknown>): Promise<number[]> {
  let running = true
  void work.finally(() => {
    running = false
  })
  const times: number[] = []
  const asked: Promise<void>[] = []
  for (let due = performance.now(); running; due += interval) {
    await delay(Math.max(0, due - performance.now()))
    const begun = due
    const ask = async () => {
      const answer = await fetch(`${url}/v1/projects/${project}/.well-known/jwks.json`)
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`a key set was answered ${answer.status}`)
      times.push(performance.now() - begun)
    }
    asked.push(ask())
  }
  await Promise.all(asked)
  return times.sort((a, b) => a - b)
}

function line(what: string, seconds: number, times: readonly number[]): string {
  const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(1)
  const took = `${seconds.toFixed(1)} s`
  return `${what}: ${took}; ${times.length} key sets: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${times.at(-1)?.toFixed(1)} ms`
}

const rsa = await rsaFile()
const ec = ecFile()
const postgres = process.argv[2] === 'postgres' ? await createPostgres() : undefined
await postgres?.start()
const { apiKey, stop } = await serve(postgres?.url() ?? `sqlite:${join(folder, 'pubring.db')}`)
const env = { PATH: process.env.PATH, PUBRING_URL: url, PUBRING_API_KEY: apiKey }
const pubring = (...args: string[]) =>
  promisify(execFile)(process.execPath, [main, ...args], { env, maxBuffer: 2 ** 28 })
try {
  for (const name of ['quiet', 'ec', 'rsa']) await pubring('project', 'create', name)
  writeFileSync(join(folder, 'quiet.pem'), [ecPem(), ecPem(), ecPem()].join('\n'))
  await pubring('import', join(folder, 'quiet.pem'), '--project', 'quiet')
  const idle = await measured('quiet', delay(5_000))
  print(line('nothing else', 5, idle))
  for (const [what, file, project] of [
    [`${ecKeys} P-256 keys`, ec, 'ec'],
    [`${rsaKeys} RSA-4096 keys`, rsa, 'rsa'],
  ] as const) {
    const begun = performance.now()
    const work = pubring('import', file, '--project', project)
    const times = await measured('quiet', work)
    print((await work).stderr.trim())
    print(line(what, (performance.now() - begun) / 1_000, times))
  }
} finally {
  stop()
  await postgres?.remove()
  rmSync(folder, { recursive: true })
}
