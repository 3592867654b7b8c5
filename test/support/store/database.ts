import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import { inject } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { destroyDatabase, lockDatabase } from '../faults/database.ts'

type Row = Record<string, unknown>

/** An empty database for one test, of the engine that the run is about. */
export interface TestDatabase {
  engine: 'sqlite' | 'postgres'
  /** As `PUBRING_DATABASE_URL` names it. */
  url: string
  /** Another one with nothing in it, not even a schema; gone with this one. */
  blank(): Promise<TestDatabase>
  /** Another one with the same in it, while nobody is connected to this one; gone with this one. */
  copy(): Promise<TestDatabase>
  /** Runs a statement behind the server's back, with `?` for values; answers the rows. */
  query(text: string, ...values: SQLInputValue[]): Promise<Row[]>
  /** The same for a statement that changes rows; answers how many. */
  execute(text: string, ...values: SQLInputValue[]): Promise<number>
  /** Every octet that is stored. */
  dump(): Promise<string>
  /** Lets nobody else write until it is released; reading goes on. */
  lockWrites(): Promise<{ release(): Promise<void> }>
  /** Takes the database away from everybody. */
  destroy(): Promise<{ restore(): Promise<void> }>
  remove(): Promise<void>
}

export function createDatabase(engine = inject('engine')): Promise<TestDatabase> {
  return engine === 'postgres' ? createPostgresDatabase('pubring_template') : sqlite()
}

async function sqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const file = join(folder, 'pubring.db')
  const others: TestDatabase[] = []
  return {
    engine: 'sqlite',
    url: `sqlite:${file}`,
    async blank() {
      const other = await sqlite()
      others.push(other)
      return other
    },
    async copy() {
      const other = await sqlite()
      others.push(other)
      withFile(file, (database) => database.prepare('vacuum into ?').run(fileOf(other)))
      return other
    },
    query: async (text, ...values) =>
      withFile(file, (database) => database.prepare(text).all(...values)),
    execute: async (text, ...values) =>
      withFile(file, (database) => Number(database.prepare(text).run(...values).changes)),
    async dump() {
      return [file, `${file}-wal`].map((name) => readFileSync(name, 'latin1')).join('')
    },
    async lockWrites() {
      const { release } = lockDatabase(file)
      return { release: async () => release() }
    },
    async destroy() {
      const { restore } = destroyDatabase(file)
      return { restore: async () => restore() }
    },
    async remove() {
      rmSync(folder, { recursive: true })
      for (const other of others) await other.remove()
    },
  }
}

function fileOf({ url }: TestDatabase): string {
  return url.slice('sqlite:'.length)
}

function withFile<Result>(file: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

const admin = () => ({ host: '127.0.0.1', port: inject('postgresPort'), user: 'postgres' })

async function connected<Result>(
  database: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ ...admin(), database })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A database on the server that the run shares, whichever engine the run is about. */
async function createPostgresDatabase(template: string): Promise<TestDatabase> {
  const name = `t_${newId().replaceAll('-', '')}`
  const server = (text: string) => connected('postgres', (client) => client.query(text))
  await server(`create database ${name} template ${template} strategy file_copy`)
  const { port, user } = admin()
  const others: TestDatabase[] = []
  return {
    engine: 'postgres',
    url: `postgres://${user}@127.0.0.1:${port}/${name}`,
    async blank() {
      const other = await createPostgresDatabase('template0')
      others.push(other)
      return other
    },
    async copy() {
      const other = await createPostgresDatabase(name)
      others.push(other)
      return other
    },
    query: (text, ...values) => connected(name, (client) => rowsOf(client, text, values)),
    execute: async (text, ...values) => {
      const { rowCount } = await connected(name, (client) => client.query(numbered(text), values))
      return rowCount ?? 0
    },
    async dump() {
      const tables = await connected(name, (client) =>
        rowsOf(client, "select tablename from pg_tables where schemaname = 'public'", []),
      )
      const texts = tables.map(({ tablename }) =>
        connected(name, (client) => rowsOf(client, `select t::text from ${tablename} t`, [])),
      )
      return JSON.stringify(await Promise.all(texts))
    },
    async lockWrites() {
      const client = new pg.Client({ ...admin(), database: name })
      await client.connect()
      await client.query('begin; update ledger set revision = revision; update api_key set id = id')
      return { release: () => client.end() }
    },
    async destroy() {
      await server(`alter database ${name} allow_connections false`)
      await server(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      )
      return {
        async restore() {
          await server(`alter database ${name} allow_connections true`)
        },
      }
    },
    async remove() {
      await server(`drop database ${name} with (force)`)
      for (const other of others) await other.remove()
    },
  }
}

async function rowsOf(client: pg.Client, text: string, values: SQLInputValue[]): Promise<Row[]> {
  const { rows } = await client.query(numbered(text), values)
  return rows
}

function numbered(text: string): string {
  let count = 0
  return text.replace(/\?/g, () => {
    count += 1
    return `$${count}`
  })
}
