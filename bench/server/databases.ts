import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres, type PostgresServer } from '../../test/support/postgres/server.ts'

export type Engine = 'sqlite' | 'postgres'

export const engineNames: Record<Engine, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

export interface Database {
  engine: Engine
  url: string
}

/** Databases of one run. */
export interface Databases {
  create(engine: Engine): Promise<Database>
  /** Deletes all of them. */
  close(): Promise<void>
}

export function createDatabases(): Databases {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-bench-'))
  let postgres: Promise<PostgresServer> | undefined
  let count = 0
  return {
    async create(engine) {
      count += 1
      if (engine === 'sqlite') return { engine, url: `sqlite:${join(folder, `${count}.db`)}` }
      postgres ??= startPostgres('shared_buffers = 1GB\nmax_wal_size = 4GB')
      const server = await postgres
      await server.query(`create database bench_${count}`)
      return { engine, url: server.url(`bench_${count}`) }
    },
    async close() {
      await (await postgres)?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A PostgreSQL server that waits for the disk with every commit. */
export async function startPostgres(settings?: string): Promise<PostgresServer> {
  const server = await createPostgres(settings)
  await server.start()
  return server
}
