import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import type { JWK } from 'jose'
import { ageKey } from '../app/keepers.ts'
import { endLater } from '../ending.ts'
import { startInstalled } from '../installed-program.ts'
import { freePort, startServer, temporaryFolder } from '../server/process.ts'
import { waitUntil } from '../waiting.ts'

const root = join(import.meta.dirname, '../../..')

/** A key that is published as docs/jwks-uri.md says. */
export interface PublishedKey {
  /** The addresses of the key set: of Pubring, and of the file in a bucket. */
  addresses: { live: string; files: string }
  /** The private key that signs. */
  current(): JWK
  /** Resolves when the next key signs. */
  rotate(): Promise<void>
}

/**
 * Runs the commands of the page, with a server whose key sets may be cached for `maxAge` seconds, and with assertions
 * that live for 5 seconds.
 */
export async function publishKey(maxAge: number): Promise<PublishedKey> {
  const page = readFileSync(join(root, 'docs/jwks-uri.md'), 'utf8')
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  const [first = '', follow = ''] = blocks.map((text) => text.replace('lifetime 5m', 'lifetime 5s'))
  const { folder } = temporaryFolder()
  const server = await startServer(folder, { PUBRING_JWKS_MAX_AGE: `${maxAge}s` })
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const env = {
    PATH: `${bin}:${join(root, 'deploy')}:${process.env.PATH}`,
    HOME: folder,
    PUBRING_URL: server.url,
  }
  const run = async (script: string, more = {}) => {
    const options = { cwd: folder, env: { ...env, ...more } }
    return (await promisify(execFile)('bash', ['-euc', script], options)).stdout
  }
  const live = (await run(first, { PUBRING_API_KEY: server.apiKey })).trim().split('\n').at(-1)
  const files = await startBucket(folder, bin)
  const follower = spawn('bash', ['-c', `exec ${follow}`], { cwd: folder, env, stdio: 'ignore' })
  endLater(async () => {
    const ended = once(follower, 'exit')
    if (follower.kill()) await ended
  })
  await waitUntil(async () => (await fetch(files)).status === 200)
  const current = () => JSON.parse(readFileSync(join(folder, 'signer/current.jwk'), 'utf8'))
  return {
    addresses: { live: live ?? '', files },
    current,
    async rotate() {
      ageKey(join(folder, 'signer'))
      await run(/^pubring key keep .*$/m.exec(first)?.[0] ?? '')
    },
  }
}

/** Starts nginx, which serves what the `aws s3 cp` in `bin` puts there. */
async function startBucket(folder: string, bin: string): Promise<string> {
  const bucket = join(folder, 'bucket')
  mkdirSync(bucket)
  for (const path of [join(folder, '..'), folder]) chmodSync(path, 0o755)
  const aws = `#!/bin/sh\ncp "$3" ${bucket}/new && mv ${bucket}/new ${bucket}/jwks.json\n`
  writeFileSync(join(bin, 'aws'), aws, { mode: 0o755 })
  const port = await freePort()
  const address = `http://127.0.0.1:${port}/jwks.json`
  const conf = `daemon off; pid nginx.pid; error_log stderr; events {}
http { access_log off; server { listen 127.0.0.1:${port}; root ${bucket}; add_header Cache-Control max-age=60; } }`
  const isAnswering = async () => (await fetch(address)).status === 404
  await startInstalled(
    'nginx',
    ['-p', '.', '-c', 'nginx.conf'],
    { 'nginx.conf': conf },
    isAnswering,
  )
  return address
}
