import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { endLater } from '../ending.ts'
import { expectNoSecret, rememberSecret } from '../secrets.ts'

const main = join(import.meta.dirname, '../../../bin/pubring.js')
/** Benchmarks run the sources as they are: the bundles are those of the last tests. */
const bundles = process.env.VITEST === undefined ? [] : ['../setup/preloaded.ts']
const preloaded = ['never-overloaded.js', ...bundles].map(
  (file) => `--import=${join(import.meta.dirname, file)}`,
)

/**
 * A TCP port that was free a moment ago. It is below those that systems give to whoever asks for any
 * port, so that no other test gets it while a server restarts.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(randomInt(20_000, 32_000), '127.0.0.1')
  const port = await once(server, 'listening').then(
    () => Number(Object(server.address()).port),
    () => undefined,
  )
  if (port === undefined) return freePort()
  server.close()
  await once(server, 'close')
  return port
}

/** Deviations from the usual start of the process. */
export interface Launch {
  /** A command that executes the command after it. */
  wrapper?: string[]
  /** Options of Node. */
  node?: string[]
  /** The user that it runs as. */
  uid?: number
  /** Another program than this checkout's. */
  program?: string
}

export interface ServerProcess {
  url: string
  pid: number
  folder: string
  /** Everything written to stdout and stderr, limited to the last `maxOutput` bytes. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code, or the signal that ended the process. */
  ended: Promise<number | NodeJS.Signals | null>
}

/** All servers whose folders are there. */
let servers: Pick<ServerProcess, 'folder' | 'output' | 'signal' | 'ended'>[] = []

/** A folder for servers, which end with it; that fails if one of them printed or stored a secret. */
export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const remove = endLater(() => {
    const texts = outputsAndDatabases(folder)
    rmSync(folder, { recursive: true, force: true })
    servers = servers.filter((each) => !each.folder.startsWith(folder))
    expectNoSecret(texts)
  })
  endLater(async () => {
    for (const server of servers.filter((each) => each.folder.startsWith(folder))) {
      server.signal('SIGKILL')
      await server.ended
    }
  })
  return { folder, remove }
}

/** The output and the database files of all servers in the folder and below. */
export function outputsAndDatabases(folder: string): Record<string, string> {
  // A server that is ending writes its log into the database and removes it, so logs are read first.
  const databases = ['**/*.db-wal', '**/*.db'].flatMap((files) => globSync(join(folder, files)))
  const printed = servers.filter((each) => each.folder.startsWith(folder))
  return Object.fromEntries([
    ...databases.map((file) => [file, readIfPresent(file)]),
    ...printed.map((each, index) => [`output ${index}`, withoutWelcome(each.output())]),
  ])
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

/** The first start prints the first API key once. */
function withoutWelcome(output: string): string {
  return output.replace(/PUBRING_API_KEY=pubring_\w+/, '')
}

/**
 * Starts `pubring serve` in the folder, with only PATH and `env` in its environment. It is never
 * overloaded.
 */
export async function spawnServer(
  folder: string,
  env: Record<string, string> = {},
  { wrapper = [], node = [], uid, program = main }: Launch = {},
): Promise<ServerProcess> {
  const port = env.PUBRING_PORT ?? (await freePort())
  const run = [process.execPath, ...preloaded, ...node, program, 'serve']
  const [command = '', ...args] = [...wrapper, ...run]
  const child = spawn(command, args, {
    cwd: folder,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: {
      PATH: process.env.PATH,
      // Otherwise Node would load a compiler for what is preloaded.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      PUBRING_PORT: String(port),
      PUBRING_LOG_LEVEL: 'trace',
      ...env,
    },
    // Standard input stays open, so that a prompt for a passphrase would block.
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const { PUBRING_ADMIN_API_KEY: adminApiKey } = env
  if (adminApiKey !== undefined) rememberSecret('an API key', adminApiKey)
  // A failing test leaves its servers running.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const collected = collectOutput(child)
  servers.push({ folder, ...collected })
  return { ...collected, url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, folder }
}

/** More than any test reads, and less than a server under full load logs. */
const maxOutput = 64 * 1024 * 1024

function collectOutput(child: ChildProcess): Pick<ServerProcess, 'output' | 'signal' | 'ended'> {
  const written: Buffer[] = []
  let bytes = 0
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      written.push(chunk)
      bytes += chunk.length
      while (bytes > maxOutput) bytes -= written.shift()?.length ?? 0
    })
  }
  const output = () => Buffer.concat(written).toString()
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  return { output, signal: (name) => child.kill(name), ended }
}

/** Resolves when the server is ready; rejects with its output if it ends first. */
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

/** Starts a server and waits until it is ready; adds the admin API key that a first start prints. */
export async function startServer(
  folder: string,
  env: Record<string, string> = {},
  launch: Launch = {},
): Promise<ServerProcess & { apiKey: string }> {
  const server = await spawnServer(folder, env, launch)
  await whenReady(server)
  // It was printed before the server answered that it is ready, and is read in the next turns.
  await setImmediate()
  await setImmediate()
  const printed = /PUBRING_API_KEY=(pubring_\w+)/.exec(server.output())?.[1] ?? ''
  return { ...server, apiKey: rememberSecret('an API key', printed) }
}

/** Parses a body whose shape the caller asserts. */
export async function readJson<Shape>(response: Response): Promise<Shape> {
  return (await response.json()) as Shape
}
