import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expectNoSecret, rememberSecret } from '../secrets.ts'

const main = join(import.meta.dirname, '../../../bin/pubring.js')

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

/** For a server that is asked one thing after the other: a busy machine is no reason to refuse. */
export const withoutOverloadCheck = { PUBRING_OVERLOAD_LAG: '0' }

/** How the process is started, where that is not as usual. */
export interface Launch {
  /** A command that ends by executing the one that follows it. */
  wrapper?: string[]
  /** Options of Node. */
  node?: string[]
  /** The user that it runs as. */
  uid?: number
}

export interface ServerProcess {
  url: string
  pid: number
  folder: string
  /** All that was written to stdout and stderr so far; of more than `maxOutput` octets, the last. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** The exit code, or the signal that ended the process. */
  ended: Promise<number | NodeJS.Signals | null>
}

/** What every server of this test file printed, by the folder that it ran in. */
const outputs: { folder: string; output(): string }[] = []

/** Removing it fails where a server in it left a secret: in what it printed, or in its files. */
export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  return {
    folder,
    remove() {
      const texts = outputsAndDatabases(folder)
      rmSync(folder, { recursive: true, force: true })
      expectNoSecret(texts)
    },
  }
}

/** All that servers left in the folder and below: what they printed, and their database files. */
export function outputsAndDatabases(folder: string): Record<string, string> {
  const databases = globSync(join(folder, '**/*.db{,-wal}'))
  const printed = outputs.filter((each) => each.folder.startsWith(folder))
  return Object.fromEntries([
    ...databases.map((file) => [file, readFileSync(file, 'latin1')]),
    ...printed.map((each, index) => [`output ${index}`, withoutWelcome(each.output())]),
  ])
}

/** The first start prints the first API key: once. */
function withoutWelcome(output: string): string {
  return output.replace(/PUBRING_API_KEY=pubring_\w+/, '')
}

/** `pubring serve` in the folder, with nothing in its environment but PATH and what is given. */
export async function spawnServer(
  folder: string,
  env: Record<string, string> = {},
  { wrapper = [], node = [], uid }: Launch = {},
): Promise<ServerProcess> {
  const port = await freePort()
  const [command = '', ...args] = [...wrapper, process.execPath, ...node, main, 'serve']
  const child = spawn(command, args, {
    cwd: folder,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: {
      PATH: process.env.PATH,
      PUBRING_PORT: String(port),
      PUBRING_LOG_LEVEL: 'trace',
      ...env,
    },
    // Standard input stays open, so that a prompt for a pass phrase would wait for ever.
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const { PUBRING_ADMIN_API_KEY: given } = env
  if (given !== undefined) rememberSecret('an API key', given)
  // A test that fails ends without ending its servers.
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  const followed = follow(child)
  outputs.push({ folder, output: followed.output })
  return { ...followed, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, folder }
}

/** Far more than any test looks at, and less than a server that logs under full load writes. */
const maxOutput = 64 * 1024 * 1024

function follow(child: ChildProcess): Pick<ServerProcess, 'output' | 'signal' | 'ended'> {
  const written: Buffer[] = []
  let octets = 0
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      written.push(chunk)
      octets += chunk.length
      while (octets > maxOutput) octets -= written.shift()?.length ?? 0
    })
  }
  const output = () => Buffer.concat(written).toString()
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  return { output, signal: (name) => child.kill(name), ended }
}

/** Resolves when `/health/ready` says so; rejects with the output where the process ends first. */
export async function whenReady(server: ServerProcess): Promise<void> {
  let running = true
  void server.ended.then(() => {
    running = false
  })
  while (running) {
    const response = await fetch(`${server.url}/health/ready`).catch(() => undefined)
    if (response?.status === 200) return
    await delay(20)
  }
  throw new Error(`the server ended before it was ready:\n${server.output()}`)
}

/** A ready server on an empty folder, and the admin API key that it printed. */
export async function startServer(
  folder: string,
  env: Record<string, string> = {},
  launch: Launch = {},
): Promise<ServerProcess & { apiKey: string }> {
  const server = await spawnServer(folder, env, launch)
  await whenReady(server)
  const printed = () => /PUBRING_API_KEY=(pubring_\w+)/.exec(server.output())?.[1]
  for (let tries = 0; printed() === undefined && tries < 50; tries += 1) await delay(20)
  return { ...server, apiKey: rememberSecret('an API key', printed() ?? '') }
}

/** The body of an answer, whose shape the caller states. */
export async function readJson<Shape>(response: Response): Promise<Shape> {
  return (await response.json()) as Shape
}
