import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { freePort } from './ports.ts'
import type { Signer } from './tokens.ts'

export const command = join(import.meta.dirname, '../../bin/pubring.js')

/** A project of its own for each verifier. */
export interface Project {
  name: string
  issuer: string
  /** Registers the signer's key and resolves to its kid. */
  register(signer: Signer): Promise<string>
  deactivate(kid: string): Promise<void>
  rename(name: string): Promise<void>
}

/** A running Pubring. */
export interface Registry {
  url: string
  /** With a name of its own, or one that another project has given up. */
  newProject(name?: string): Promise<Project>
  /** Resolves with a function that restores the database as it is now. */
  backUp(): () => Promise<void>
  /** Ends the server; a second call does nothing. */
  stop(): Promise<void>
}

/** `pubring serve` on a folder of its own, which goes with it. */
export async function startRegistry(): Promise<Registry> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const port = await freePort()
  const apiKey = newApiKeySecret()
  const options = {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PUBRING_PORT: String(port),
      PUBRING_ADMIN_API_KEY: apiKey,
      PUBRING_LOG_LEVEL: 'fatal',
    },
    stdio: ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit'],
  }
  const url = `http://127.0.0.1:${port}`
  async function start() {
    const started = spawn(process.execPath, [command, 'serve'], options)
    while (!(await responds(`${url}/health/ready`))) {
      if (started.exitCode !== null) throw new Error('pubring serve ended before it was ready.')
      await delay(20)
    }
    return started
  }
  async function end() {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  const run = (...words: string[]) => execFileSync(process.execPath, [command, ...words], options)
  let child = await start()
  let count = 0
  return {
    url,
    async newProject(name = `example-${++count}`) {
      const call = caller(`${url}/v1/projects`, apiKey)
      const { id } = await call<{ id: string }>('POST', '?release=true', { name })
      return {
        name,
        issuer: `${url}/v1/projects/${id}`,
        async register({ algorithm, publicKeyPem }) {
          const body = { name: algorithm, algorithm, publicKeyPem }
          return (await call<{ kid: string }>('POST', `/${id}/jwt-keys`, body)).kid
        },
        async rename(to) {
          await call('PATCH', `/${id}`, { name: to })
        },
        async deactivate(kid) {
          await call('PATCH', `/${id}/jwt-keys/${kid}`, { active: false })
        },
      }
    },
    backUp() {
      run('backup', 'backup.db')
      return async () => {
        await end()
        run('restore', 'backup.db', '--yes')
        child = await start()
      }
    },
    async stop() {
      if (child.exitCode !== null) return
      await end()
      rmSync(folder, { recursive: true })
    },
  }
}

async function responds(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined)
  return response?.ok === true
}

function caller(base: string, apiKey: string) {
  return async function call<Shape>(method: string, path: string, body?: object): Promise<Shape> {
    const response = await fetch(base + path, {
      method,
      headers: { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // On a busy machine the server may be overloaded for a moment.
    if (response.status === 503) return delay(500).then(() => call<Shape>(method, path, body))
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return (await response.json()) as Shape
  }
}
