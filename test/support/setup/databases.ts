import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { TestProject } from 'vitest/node'
import { openStore } from '../../../packages/server/src/registry.ts'
import { createPostgres, initializeFolder, type PostgresServer } from '../postgres/server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The database engine of this run. */
    engine: 'sqlite' | 'postgres'
    /** Port of the PostgreSQL server that the run shares. 0: none. */
    postgresPort: number
    /** A migrated SQLite file, copied for each test database. */
    sqliteTemplate: string
  }
}

/** Migrated once, and copied for each test database. */
const templateDatabase = 'pubring_template'

/** Nothing on this server outlives the run, so it need not wait for the disk. */
const settings = `fsync = off
full_page_writes = off
shared_buffers = 64MB
max_connections = 400
max_wal_size = 256MB
autovacuum = off`

let postgresTemplate = ''
let server: PostgresServer | undefined

/**
 * One server for the whole run. Its databases use an English collation, so that code which relies on
 * the byte order of text without asking for it fails.
 */
export async function setup(project: TestProject): Promise<void> {
  // Inherited by the processes of the tests: servers that tests start of their own copy these files.
  postgresTemplate = await initializeFolder()
  process.env.POSTGRES_TEMPLATE_FOLDER = postgresTemplate
  server = await createPostgres(settings)
  await server.start()
  await server.query(
    `create database ${templateDatabase} template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'`,
  )
  const store = await openStore(server.url(templateDatabase))
  await store.close()
  project.provide('postgresPort', server.port)
  const file = join(mkdtempSync(join(tmpdir(), 'pubring-templates-')), 'pubring.db')
  await (await openStore(`sqlite:${file}`)).close()
  project.provide('sqliteTemplate', file)
}

export async function teardown(): Promise<void> {
  await server?.remove()
}
