import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import { inject } from 'vitest'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { endLater } from '../ending.ts'
import { destroyDatabase, lockDatabase } from '../faults/database.ts'
import { waitLimitMs } from '../waiting.ts'

type Row = Record<string, unknown>

/** A database for one test. */
export interface TestDatabase {
  engine: 'sqlite' | 'postgres'
  /** As in `PUBRING_DATABASE_URL`. */
  url: string
  /** Copies this database while it has no connections. */
  copy(): Promise<TestDatabase>
  /** Runs a statement, with `?` for values, behind the server's back. Returns the rows. */
  query(text: string, ...values: SQLInputValue[]): Promise<Row[]>
  /** The same for a change. Returns the number of changed rows. */
  execute(text: string, ...values: SQLInputValue[]): Promise<number>
  /** Everything that is stored, as text. */
  dump(): Promise<string>
  /** Blocks writes of other connections until it is released, but not reads. */
  lockWrites(): Promise<{ release(): Promise<void> }>
  /** Makes the database unusable until it is restored. */
  destroy(): Promise<{ restore(): Promise<void> }>
  /** Called by itself after the test or file. */
  remove(): Promise<void>
}

/** A database with the current schema and no content, by default of the run's engine. */
export function createDatabase(engine = inject('engine')): Promise<TestDatabase> {
  if (engine === 'postgres') return createPostgresDatabase('pubring_template')
  return createSqliteDatabase(inject('sqliteTemplate'))
}

/** A database without a schema, by default of the run's engine. */
export function createBlankDatabase(engine = inject('engine')): Promise<TestDatabase> {
  return engine === 'postgres' ? createPostgresDatabase('template0') : createSqliteDatabase()
}

async function createSqliteDatabase(template?: string): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  const file = join(folder, 'pubring.db')
  if (template !== undefined) copyFileSync(template, file)
  return {
    engine: 'sqlite',
    url: `sqlite:${file}`,
    async copy() {
      const copy = await createSqliteDatabase()
      const target = copy.url.slice('sqlite:'.length)
      withFile(file, (database) => database.prepare('vacuum into ?').run(target))
      return copy
    },
    query: async (text, ...values) =>
      withFile(file, (database) => database.prepare(text).all(...values)),
    execute: async (text, ...values) =>
      withFile(file, (database) => Number(database.prepare(text).run(...values).changes)),
    async dump() {
      const files = [file, `${file}-wal`].filter((name) => existsSync(name))
      return files.map((name) => readFileSync(name, 'latin1')).join('')
    },
    async lockWrites() {
      const { release } = lockDatabase(file)
      return { release: async () => release() }
    },
    async destroy() {
      const { restore } = destroyDatabase(file)
      return { restore: async () => restore() }
    },
    remove: endLater(async () => rmSync(folder, { recursive: true })),
  }
}

function withFile<Result>(file: string, work: (database: DatabaseSync) => Result): Result {
  // A server may be closing it.
  const database = new DatabaseSync(file, { timeout: waitLimitMs })
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** A database on the server that the whole run shares. */
async function createPostgresDatabase(template: string): Promise<TestDatabase> {
  const name = `t_${newId().replaceAll('-', '')}`
  await queryPostgres('postgres', `create database ${name} template ${template} strategy file_copy`)
  const { host, port, user } = superuser()
  return {
    engine: 'postgres',
    // A busy machine is not one whose database is away.
    url: `postgres://${user}@${host}:${port}/${name}?connect_timeout=60&statement_timeout=60000`,
    copy: () => createPostgresDatabase(name),
    query: async (text, ...values) => (await queryPostgres(name, text, values)).rows,
    execute: async (text, ...values) => (await queryPostgres(name, text, values)).rowCount ?? 0,
    dump: () => dumpPostgres(name),
    async lockWrites() {
      const client = new pg.Client({ ...superuser(), database: name })
      await client.connect()
      await client.query('begin; update ledger set revision = revision; update api_key set id = id')
      return { release: () => client.end() }
    },
    destroy: () => disconnectPostgres(name),
    remove: endLater(async () => {
      await queryPostgres('postgres', `drop database ${name} with (force)`)
    }),
  }
}

const superuser = () => ({ host: '127.0.0.1', port: inject('postgresPort'), user: 'postgres' })

async function queryPostgres(
  database: string,
  text: string,
  values: SQLInputValue[] = [],
): Promise<pg.QueryResult<Row>> {
  const client = new pg.Client({ ...superuser(), database })
  await client.connect()
  try {
    return await client.query(values.length === 0 ? text : numberParameters(text), values)
  } finally {
    await client.end()
  }
}

function numberParameters(text: string): string {
  let count = 0
  return text.replace(/\?/g, () => {
    count += 1
    return `$${count}`
  })
}

async function dumpPostgres(name: string): Promise<string> {
  const { rows: tables } = await queryPostgres(
    name,
    "select tablename from pg_tables where schemaname = 'public'",
  )
  const statements = tables.map(({ tablename }) => `select t::text from ${tablename} t`)
  const contents = [await queryPostgres(name, statements.join('; '))].flat()
  return JSON.stringify(contents.map(({ rows }) => rows))
}

async function disconnectPostgres(name: string) {
  await queryPostgres('postgres', `alter database ${name} allow_connections false`)
  await queryPostgres(
    'postgres',
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )
  return {
    async restore() {
      await queryPostgres('postgres', `alter database ${name} allow_connections true`)
    },
  }
}
