import { requireOwnSchema } from '../migrations/index.ts'
import { createKysely } from '../postgres/dialect.ts'
import { openWithoutMigrating as openPostgres } from '../postgres/without-migrating.ts'
import type { Db } from '../schema.ts'
import { begin, commit, rollback } from '../sqlite/connection.ts'
import { openWithoutMigrating as openSqlite } from '../sqlite/opening.ts'

/** Limit for each statement of a copy, and for each pause between two. */
const copyTimeoutMs = 600_000

/** A database, in one transaction. */
export interface CopyEndpoint {
  db: Db
  /** Commits, and begins the next transaction. */
  commit(): Promise<void>
  /** Rolls back and closes the database. */
  close(): Promise<void>
}

/**
 * Opens an existing database whose schema is that of this release. A `source` is read from one
 * snapshot; what is written to a `target` becomes visible with the commit.
 */
export function openCopyEndpoint(url: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  return url.startsWith('sqlite:')
    ? openSqliteEndpoint(url.slice('sqlite:'.length), role)
    : openPostgresEndpoint(url, role)
}

async function openSqliteEndpoint(file: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  const isSource = role === 'source'
  const connection = await openSqlite(
    { file, role: isSource ? 'reader' : 'writer' },
    requireOwnSchema,
  )
  const { db } = connection
  try {
    connection.run(isSource ? beginSnapshot : begin)
  } catch (error) {
    connection.close()
    throw error
  }
  return {
    db,
    async commit() {
      connection.run(commit)
      connection.run(beginSnapshot)
    },
    async close() {
      if (connection.inTransaction()) connection.run(rollback)
      connection.close()
    },
  }
}

const beginSnapshot = 'BEGIN'

async function openPostgresEndpoint(url: string, role: 'source' | 'target'): Promise<CopyEndpoint> {
  const { database } = await openPostgres(url, requireOwnSchema)
  const beginNext = () => database.begin({ timeoutMs: copyTimeoutMs, isSnapshot: true })
  let transaction = await beginNext().catch(async (error) => {
    await database.close()
    throw error
  })
  return {
    db: createKysely((statement) => transaction.query(statement)),
    async commit() {
      if (role === 'source') return
      await transaction.commit()
      transaction = await beginNext()
    },
    async close() {
      await transaction.rollback()
      await database.close()
    },
  }
}
