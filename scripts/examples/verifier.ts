import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import http from 'node:http'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './ports.ts'
import { audience } from './tokens.ts'

/** Milliseconds that a service may need to listen on a busy machine. */
const startTimeoutMs = 90_000

/** How often a request is repeated if it gets no response, as while a gateway is reloaded. */
const attempts = 5

/** Groups of processes that run. */
const groups = new Set<number>()
process.on('exit', () => {
  for (const pid of groups) killGroup(pid, 'SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

interface Answer {
  status: number
  text: string
}

export interface Verifier {
  /** The status of the response to a request with this token. */
  ask(token: string): Promise<number>
  /** The response to a request with this token: its status, and what it says. */
  answer(token: string): Promise<Answer>
  /** Kills those of its processes whose command line matches. */
  kill(pattern: string): void
  stop(): Promise<void>
}

export interface LaunchOptions {
  /** A shell line. */
  run: string
  folder: string
  /** Base URL of the server. */
  url: string
  issuer: string
  /** Further variables. */
  env: Record<string, string>
  /** Gets what the service prints. */
  log: string
}

/** Starts a service that listens on `PORT`. Rejects if it does not. */
export async function startVerifier(options: LaunchOptions): Promise<Verifier> {
  const port = await freePort()
  const { hostname, port: jwksPort } = new URL(options.url)
  const log = openSync(options.log, 'w')
  const child = spawn('sh', ['-c', options.run], {
    cwd: options.folder,
    env: {
      ...process.env,
      ISSUER: options.issuer,
      AUDIENCE: audience,
      PORT: String(port),
      FOLLOWER_PORT: String(await freePort()),
      JWKS_HOST: hostname,
      JWKS_PORT: jwksPort,
      ...options.env,
    },
    stdio: ['ignore', log, log],
    // A group of its own, since gateways have several processes.
    detached: true,
  })
  closeSync(log)
  if (child.pid !== undefined) groups.add(child.pid)
  const deadline = Date.now() + startTimeoutMs
  while ((await answerOf(port, 'none')) === undefined) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await end(child)
      throw new Error(`does not listen: see ${options.log}`)
    }
    await delay(100)
  }
  const answer = async (token: string) => {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const found = await answerOf(port, token)
      if (found !== undefined) return found
      await delay(50)
    }
    throw new Error(`stopped responding: see ${options.log}`)
  }
  return {
    answer,
    ask: async (token) => (await answer(token)).status,
    kill(pattern) {
      const found = execFileSync('pgrep', ['-g', String(child.pid), '-f', pattern]).toString()
      for (const pid of found.trim().split('\n')) process.kill(Number(pid), 'SIGKILL')
    },
    stop: () => end(child),
  }
}

/** Undefined if there is no response. A new connection each time, as from another client. */
function answerOf(port: number, token: string): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` }
    const request = http.get({ host: '127.0.0.1', port, headers, agent: false, timeout: 20_000 })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(undefined))
    request.on('response', (response) => {
      const { statusCode: status = 0 } = response
      text(response).then(
        (said) => resolve({ status, text: said }),
        () => resolve(undefined),
      )
    })
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  const isRunning = child.exitCode === null && child.signalCode === null
  const exited = isRunning ? once(child, 'exit') : Promise.resolve()
  killGroup(child.pid, 'SIGTERM')
  await Promise.race([exited, delay(5_000)])
  killGroup(child.pid, 'SIGKILL')
  await exited
  groups.delete(child.pid)
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // All of its processes have ended.
  }
}
