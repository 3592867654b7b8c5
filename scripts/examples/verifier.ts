import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Example } from './catalog.ts'
import { freePort, type Registry } from './registry.ts'
import { audience } from './tokens.ts'

export interface Verdict {
  accepted: boolean
  /** What the verifier said. */
  said: string
}

/** An example that runs: a gateway, or a program that is started anew for each token. */
export interface Verifier {
  ask(token: string): Promise<Verdict>
  stop(): Promise<void>
}

/** Rejects where a gateway does not listen within 20 s. */
export async function startVerifier(
  example: Example,
  folder: string,
  registry: Registry,
): Promise<Verifier> {
  const env = { ...process.env, ...(await settingsFor(registry)) }
  if (example.gateway === undefined) {
    return { ask: (token) => askProgram(example, folder, env, token), stop: async () => {} }
  }
  const child = spawn('sh', ['-c', example.run], { cwd: folder, env, stdio: 'ignore' })
  const ask = (token: string) => askGateway(env.PORT, token)
  const deadline = Date.now() + 20_000
  while (!(await listens(ask))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await end(child)
      throw new Error(`${example.name} does not listen.`)
    }
    await delay(20)
  }
  return { ask, stop: () => end(child) }
}

async function settingsFor({ issuer }: Registry) {
  const { hostname, port } = new URL(issuer)
  return {
    ISSUER: issuer,
    AUDIENCE: audience,
    PORT: String(await freePort()),
    JWKS_HOST: hostname,
    JWKS_PORT: port,
    CACHE_DURATION: '600s',
  }
}

async function askProgram(
  example: Example,
  cwd: string,
  env: NodeJS.ProcessEnv,
  token: string,
): Promise<Verdict> {
  const result = await promisify(execFile)('sh', ['-c', example.run, 'sh', token], {
    cwd,
    env,
  }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: unknown; stdout: string }) => ({ code, stdout }),
  )
  const said = result.stdout.trim()
  if (result.code === 0 && said.includes('alice')) return { accepted: true, said }
  // Any other failure is not a rejection.
  if (result.code === 1 && said.startsWith('refused: ')) return { accepted: false, said }
  throw new Error(`${example.name} ended with ${result.code}: ${said}`)
}

async function askGateway(port: string, token: string): Promise<Verdict> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    headers: { Authorization: `Bearer ${token}`, Connection: 'close' },
  })
  const said = `${response.status} ${(await response.text()).trim()}`
  if (response.status === 200) return { accepted: true, said }
  // Envoy says 403 of an audience that is not its own.
  if (response.status === 401 || response.status === 403) return { accepted: false, said }
  throw new Error(`the gateway answered ${said}`)
}

function listens(ask: (token: string) => Promise<Verdict>): Promise<boolean> {
  return ask('none').then(
    () => true,
    () => false,
  )
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
