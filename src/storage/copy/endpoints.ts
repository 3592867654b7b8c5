import { existsSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import { requireSchema } from '../migrations/index.ts'
import { parsePostgresAddress } from '../postgres/address.ts'
import { openDatabase } from '../postgres/database.ts'
import { createKysely } from '../postgres/dialect.ts'
import { currentSchema } from '../postgres/migrate.ts'
import { waitUntilUsable } from '../postgres/store.ts'
import type { Tables } from '../schema.ts'
import { openSqlite } from '../sqlite/connection.ts'

/** Milliseconds that a statement, and a pause between two, may take while much is copied. */
const copyTimeout = 600_000

/** One side of a copy: a database within one transaction. */
export interface CopyEndpoint {
  db: Kysely<Tables>
  /** Makes what was written durable. */
  commit(): Promise<void>
  /** Undoes what was not committed. */
  close(): Promise<void>
}

/**
 * Opens a database that is there, in the schema of this release. A `source` is read as it is at one
 * moment, whatever is written to it meanwhile; a `target` is written to and seen by nobody before it
 * is committed.
 */
export function openCopyEndpoint(url: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  return url.startsWith('sqlite:')
    ? openSqliteEndpoint(url.slice('sqlite:'.length), role)
    : openPostgresEndpoint(url, role)
}

async function openSqliteEndpoint(file: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  if (!existsSync(file)) throw new Error(`There is no database at ${file}.`)
  const connection = openSqlite({ file, role: role === 'source' ? 'reader' : 'writer' })
  const { db } = connection
  try {
    await requireSchema(db)
    await sql.raw(role === 'source' ? 'BEGIN' : 'BEGIN IMMEDIATE').execute(db)
  } catch (error) {
    connection.close()
    throw error
  }
  return {
    db,
    async commit() {
      await sql`COMMIT`.execute(db)
      // What follows is read from one moment again.
      await sql`BEGIN`.execute(db)
    },
    async close() {
      if (connection.inTransaction()) await sql`ROLLBACK`.execute(db)
      connection.close()
    },
  }
}

async function openPostgresEndpoint(url: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  const sessions = openDatabase(parsePostgresAddress(url), 'primary')
  const begin = () => sessions.begin({ timeout: copyTimeout, snapshot: true })
  try {
    await waitUntilUsable(sessions)
    const reading = createKysely(sessions.read)
    await requireSchema(reading, await currentSchema(reading))
    let transaction = await begin()
    return {
      db: createKysely((statement) => transaction.query(statement)),
      async commit() {
        if (role === 'source') return
        await transaction.commit()
        transaction = await begin()
      },
      async close() {
        await transaction.rollback()
        await sessions.close()
      },
    }
  } catch (error) {
    await sessions.close()
    throw error
  }
}
