import type { TestProject } from 'vitest/node'
import { openPostgresStore } from '../../../src/storage/postgres/store.ts'
import { createPostgres, type PostgresServer } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Which database the tests of this run are about. */
    engine: 'sqlite' | 'postgres'
    /** Port of the PostgreSQL server that the run shares; 0: none. */
    postgresPort: number
  }
}

/** Migrated once, and copied for every store of a test. */
export const templateDatabase = 'pubring_template'

/** Nothing on this server outlives the run, so it waits for no disk. */
const careless = `fsync = off
full_page_writes = off
shared_buffers = 64MB
max_connections = 400
max_wal_size = 256MB
autovacuum = off`

let server: PostgresServer | undefined

/**
 * One server for the whole run. Its databases sort text as English dictionaries do, so that whatever
 * relies on the order of octets without saying so is found out.
 */
export async function setup(project: TestProject): Promise<void> {
  server = await createPostgres(careless)
  await server.start()
  await server.query(
    `create database ${templateDatabase} template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'`,
  )
  const store = await openPostgresStore({ url: server.url(templateDatabase) })
  await store.close()
  project.provide('postgresPort', server.port)
}

export async function teardown(): Promise<void> {
  await server?.remove()
}
