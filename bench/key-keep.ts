/**
 * The proof of `pubring key keep`: rotations one after another under a signer (jose) that reads the folder for
 * each token, and verifiers that learn of the keys in their own ways: HAProxy with the follower, PyJWT, whose
 * cache is set to 2 seconds, and go-oidc, which fetches the key set at an unknown kid. Each gets a token of its
 * own every 10 ms, and from the end of each key on a token of that key every 100 ms. Prints how many valid
 * tokens were refused, and how long tokens of an ended key were accepted; exits with 1 if a valid one was
 * refused, or HAProxy accepted one of an ended key 2 s after its end. Needs haproxy, envsubst, python3 and go.
 *
 *   npm run bench:key-keep [-- --rotations 30] [--every 8s]
 */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { importJWK, type JWK, SignJWT } from 'jose'
import { audience } from '../scripts/examples/tokens.ts'
import { startVerifier, type Verifier } from '../scripts/examples/verifier.ts'
import { createReplicas } from '../test/support/server/replicas.ts'
import { createDatabases } from './server/databases.ts'

const { values } = parseArgs({
  options: {
    rotations: { type: 'string', default: '30' },
    every: { type: 'string', default: '8s' },
  },
})
const rotations = Number(values.rotations)
const tokenEveryMs = 10
const staleEveryMs = 100
const tokenLifetime = 3
const maxAge = 3
/** How long after its end a key may be accepted by a gateway with the follower. */
const graceMs = 2_000

const checkout = join(import.meta.dirname, '..')
const command = join(checkout, 'bin/pubring.js')
const folder = mkdtempSync(join(tmpdir(), 'pubring-key-keep-'))
const examples = join(folder, 'verifiers')
cpSync(join(checkout, 'examples/verifiers'), examples, { recursive: true })
mkdirSync(join(folder, 'bin'))
symlinkSync(command, join(folder, 'bin/pubring'))
process.env.PATH = `${join(folder, 'bin')}:${process.env.PATH}`
const build = (name: string, line: string) =>
  execFileSync('sh', ['-c', line], { cwd: join(examples, name), stdio: 'inherit' })
build('python-pyjwt', 'python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt')
build('go-oidc', 'go build -o verify .')

const databases = createDatabases()
const replicas = createReplicas((await databases.create('sqlite')).url)
const { url, apiKey } = await replicas.add({
  PUBRING_JWKS_MAX_AGE: String(maxAge),
  PUBRING_LOG_LEVEL: 'warn',
})
const headers = { 'x-api-key': apiKey }
const [{ id }] = (await (await fetch(`${url}/v1/projects`, { headers })).json()) as [{ id: string }]
const issuer = `${url}/v1/projects/${id}`
const dir = join(folder, 'signer')
const flags = ['--every', values.every, '--token-lifetime', `${tokenLifetime}s`, '--project', id]
const keep = (extra: string[], env = {}) =>
  spawn(process.execPath, [command, 'key', 'keep', dir, ...flags, ...extra], {
    env: { ...process.env, PUBRING_URL: url, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
await new Promise((resolve) => keep(['--once'], { PUBRING_API_KEY: apiKey }).once('exit', resolve))

const setUps: Record<string, { run: string; folder: string; env: Record<string, string> }> = {
  'HAProxy with the follower': { run: './run.sh', folder: 'haproxy', env: {} },
  'PyJWT, cache of 2 s': {
    run: 'exec .venv/bin/python service.py',
    folder: 'python-pyjwt',
    env: { CACHE_SECONDS: '2' },
  },
  'go-oidc': { run: 'exec ./verify', folder: 'go-oidc', env: {} },
}

/** What one verifier said. */
interface Tally {
  verifier: Verifier
  name: string
  valid: number
  /** Answered so late that the token may have expired. */
  late: number
  refused: number
  stale: number
  /** The last acceptance of an ended key, in milliseconds after its end. */
  longestMs: number
}

const tallies: Tally[] = []
for (const [name, { run, folder: part, env }] of Object.entries(setUps)) {
  const own = join(examples, part)
  const log = join(folder, `${part}.log`)
  const verifier = await startVerifier({ run, folder: own, url, issuer, env, log })
  tallies.push({ verifier, name, valid: 0, late: 0, refused: 0, stale: 0, longestMs: 0 })
}

async function sign(jwk: JWK): Promise<string> {
  const { alg = '', kid = '' } = jwk
  return new SignJWT({ sub: 'bench' })
    .setProtectedHeader({ alg, kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(`${tokenLifetime}s`)
    .sign(await importJWK(jwk, alg))
}

/** When the key ends, in milliseconds. */
async function endOf(kid: string): Promise<number> {
  const response = await fetch(`${issuer}/jwt-keys/${kid}`, { headers })
  return Date.parse(((await response.json()) as { expireTime: string }).expireTime)
}

const readKey = (): JWK => JSON.parse(readFileSync(join(dir, 'current.jwk'), 'utf8'))
const keeper = keep([])
let [rotated, ended] = [0, 0]
let current = readKey()
const last: { old?: JWK; endsAt: number } = { endsAt: Number.POSITIVE_INFINITY }
const running = new Set<Promise<void>>()

async function ask(tally: Tally, jwk: JWK, endsAt?: number): Promise<void> {
  const sentAt = Date.now()
  const token = await sign(jwk)
  const { status, text } = await tally.verifier.answer(token)
  if (endsAt === undefined) {
    // On a machine that is too busy, a token may have expired on the way.
    if (Date.now() - sentAt > (tokenLifetime - 1) * 1_000) {
      tally.late += 1
      return
    }
    tally.valid += 1
    if (status === 200) return
    tally.refused += 1
    process.stderr.write(`${tally.name} refused a valid token of ${jwk.kid}: ${status} ${text}\n`)
  } else {
    tally.stale += 1
    if (status === 200) tally.longestMs = Math.max(tally.longestMs, sentAt - endsAt)
  }
}

function start(work: Promise<void>): void {
  running.add(work)
  void work.finally(() => running.delete(work))
}

// HAProxy takes its follower for up until the first check, which may come before that listens.
for (const { verifier } of tallies) {
  for (let accepted = 0; accepted < 50; await delay(100)) {
    accepted = (await verifier.ask(await sign(readKey()))) === 200 ? accepted + 1 : 0
  }
}
current = readKey()
const began = Date.now()
const isDone = () => ended >= rotations && Date.now() > last.endsAt + 2 * graceMs
for (let turn = 0; !isDone(); turn += 1) {
  const jwk = readKey()
  if (jwk.kid !== current.kid) {
    rotated += 1
    Object.assign(last, { old: current, endsAt: Number.POSITIVE_INFINITY })
    current = jwk
  }
  if (last.old !== undefined && last.endsAt === Number.POSITIVE_INFINITY) {
    const state = JSON.parse(readFileSync(join(dir, 'keeper.json'), 'utf8'))
    if (state.ended === last.old.kid) {
      last.endsAt = await endOf(state.ended)
      ended += 1
    }
  }
  for (const tally of tallies) start(ask(tally, jwk))
  const { old, endsAt } = last
  if (old !== undefined && Date.now() > endsAt && turn % (staleEveryMs / tokenEveryMs) === 0) {
    for (const tally of tallies) start(ask(tally, old, endsAt))
  }
  await delay(Math.max(0, began + (turn + 1) * tokenEveryMs - Date.now()))
}
await Promise.all(running)
keeper.kill()
const seconds = Math.round((Date.now() - began) / 1_000)
const total = tallies.reduce((sum, { valid }) => sum + valid, 0)
const count = (number: number) => number.toLocaleString('en-US')
process.stdout.write(`${rotated} rotations, ${count(total)} tokens in ${seconds} s\n\n`)
process.stdout.write(
  '| verifier | valid tokens | refused | answered late | of ended keys | accepted after the end |\n',
)
process.stdout.write('|---|---|---|---|---|---|\n')
for (const { verifier, name, valid, late, refused, stale, longestMs } of tallies) {
  await verifier.stop()
  const row = [
    name,
    count(valid),
    refused,
    late,
    count(stale),
    `${(longestMs / 1_000).toFixed(1)} s`,
  ]
  process.stdout.write(`| ${row.join(' | ')} |\n`)
}
await replicas.close()
await databases.close()
rmSync(folder, { recursive: true, force: true })
const isLate = tallies.some(({ name, longestMs }) => /follower/.test(name) && longestMs > graceMs)
process.exit(isLate || tallies.some(({ refused }) => refused > 0) ? 1 : 0)
