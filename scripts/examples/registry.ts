import { spawn } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { newApiKeySecret } from '../../src/core/api-keys/secrets.ts'

const command = join(import.meta.dirname, '../../bin/pubring.js')

/** A running Pubring with one project, which has keys of every kind. */
export interface Registry {
  issuer: string
  /** Registers the key for RS256 and resolves to its kid. */
  register(publicKeyPem: string): Promise<string>
  deactivate(kid: string): Promise<void>
  stop(): Promise<void>
}

/** A TCP port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return address.port
}

/** `pubring serve` on a folder of its own, which goes with it. */
export async function startRegistry(): Promise<Registry> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const port = await freePort()
  const apiKey = newApiKeySecret()
  const child = spawn(process.execPath, [command, 'serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PUBRING_PORT: String(port),
      PUBRING_ADMIN_API_KEY: apiKey,
      PUBRING_LOG_LEVEL: 'fatal',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  while (!(await answers(`${url}/health/ready`))) {
    if (child.exitCode !== null) throw new Error('pubring serve ended before it was ready.')
    await delay(20)
  }
  const call = caller(`${url}/v1/projects/default`, apiKey)
  const { id } = await call<{ id: string }>('GET', '')
  for (const [algorithm, key] of otherKeys()) {
    const publicKeyPem = key.export({ type: 'spki', format: 'pem' })
    await call('POST', '/jwt-keys', { name: algorithm, algorithm, publicKeyPem })
  }
  return {
    issuer: `${url}/v1/projects/${id}`,
    async register(publicKeyPem) {
      const body = { name: 'example', algorithm: 'RS256', publicKeyPem }
      return (await call<{ kid: string }>('POST', '/jwt-keys', body)).kid
    },
    async deactivate(kid) {
      await call('PATCH', `/jwt-keys/${kid}`, { active: false })
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}

/** A key of each other kind, none of which may keep a verifier from reading the key set. */
function otherKeys(): [algorithm: string, publicKey: KeyObject][] {
  return [
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey],
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey],
    ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey],
    ['EdDSA', generateKeyPairSync('ed25519').publicKey],
    ['ML-DSA-65', generateKeyPairSync('ml-dsa-65').publicKey],
  ]
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined)
  return response?.ok === true
}

function caller(base: string, apiKey: string) {
  return async <Shape>(method: string, path: string, body?: object): Promise<Shape> => {
    const response = await fetch(base + path, {
      method,
      headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return (await response.json()) as Shape
  }
}
