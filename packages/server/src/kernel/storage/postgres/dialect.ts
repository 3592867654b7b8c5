import {
  type DatabaseConnection,
  type DialectAdapter,
  Kysely,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Db, Tables } from '../schema.ts'
import { runDirectly } from '../statements.ts'
import type { Statement } from './leases.ts'

/** Runs one statement, on a pool or a connection. */
export type Run = <Row>(statement: Statement) => Promise<QueryResult<Row>>

/**
 * Kysely over a function that runs statements. It opens no transactions: only their owner knows
 * whether they can be retried.
 */
export function createKysely(run: Run): Db {
  const connection: DatabaseConnection = {
    executeQuery: (query) => run(query),
    streamQuery() {
      throw unsupported()
    },
  }
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        beginTransaction: async () => Promise.reject(unsupported()),
        commitTransaction: async () => Promise.reject(unsupported()),
        rollbackTransaction: async () => Promise.reject(unsupported()),
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
    },
  })
  runDirectly(db, async (sql, parameters) => (await run({ sql, parameters })).rows)
  return db
}

function unsupported(): Error {
  return new Error('this connection neither streams nor opens transactions')
}

/**
 * Without Kysely's migration lock, which it takes for the session: a pooler in transaction mode
 * would leave it on a shared connection. `migratePostgres` takes one for the transaction.
 */
const adapter: DialectAdapter = {
  supportsCreateIfNotExists: true,
  supportsMultipleConnections: true,
  supportsTransactionalDdl: true,
  supportsReturning: true,
  supportsOutput: false,
  async acquireMigrationLock() {},
  async releaseMigrationLock() {},
}
