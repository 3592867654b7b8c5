import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres, type PostgresServer } from '../../test/support/postgres/server.ts'
import { createReplicas, type Replica } from '../../test/support/server/replicas.ts'
import { withChildren } from '../load/usage.ts'
import { pin } from './cores.ts'

export type Engine = 'sqlite' | 'postgres'

export const engineNames: Record<Engine, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** A running `pubring serve`, as it is measured. */
export interface Subject {
  name: string
  engine: Engine
  workers: number
  /** Whether it writes a line for each request, as it does by default. */
  logs: boolean
  port: number
  /** The process and its workers. */
  pids: number[]
  replica: Replica
  /** Confines it to those cores. */
  pin(cores: string): void
  close(): Promise<void>
}

export interface Database {
  engine: Engine
  url: string
}

/** Databases for one run; they go when it is over. */
export interface Databases {
  make(engine: Engine): Promise<Database>
  close(): Promise<void>
}

export function createDatabases(): Databases {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-bench-'))
  let server: Promise<PostgresServer> | undefined
  let made = 0

  async function started(): Promise<PostgresServer> {
    const postgres = await createPostgres('shared_buffers = 1GB\nmax_wal_size = 4GB')
    await postgres.start()
    return postgres
  }
  return {
    async make(engine) {
      made += 1
      if (engine === 'sqlite') return { engine, url: `sqlite:${join(folder, `${made}.db`)}` }
      server ??= started()
      const postgres = await server
      await postgres.query(`create database bench_${made}`)
      return { engine, url: postgres.url(`bench_${made}`) }
    },
    async close() {
      await (await server)?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What is not as usual: one process, without a log line for each request. */
interface Variant {
  workers?: number
  logs?: boolean
  nodeOptions?: string
}

/** Starts the server on the database, and resolves when it is ready with all its workers. */
export async function startSubject(
  database: Database,
  { workers = 1, logs = false, nodeOptions }: Variant = {},
): Promise<Subject> {
  const replicas = createReplicas(database.url)
  const replica = await replicas.add({
    PUBRING_WORKERS: String(workers),
    PUBRING_LOG_LEVEL: logs ? 'info' : 'warn',
    // On a busy machine it would turn requests away, which is not what is measured.
    PUBRING_OVERLOAD_LAG: '0',
    ...(nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions }),
  })
  while (workers > 1 && withChildren(replica.pid).length <= workers)
    await replica.call('GET', '/health/ready')
  const pids = withChildren(replica.pid)
  const { engine } = database
  return {
    name: `${engineNames[engine]}${workers === 1 ? '' : `, ${workers} workers`}${logs ? ', logging' : ''}`,
    engine,
    workers,
    logs,
    port: Number(new URL(replica.url).port),
    pids,
    replica,
    pin: (cores) => pin(pids, cores),
    close: () => replicas.close(),
  }
}
