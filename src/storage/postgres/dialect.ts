import {
  AlterTableNode,
  type ColumnDefinitionNode,
  CreateTableNode,
  type DatabaseConnection,
  DataTypeNode,
  type DialectAdapter,
  Kysely,
  type KyselyPlugin,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  RawNode,
  type RootOperationNode,
} from 'kysely'
import type { Tables } from '../schema.ts'
import type { Statement } from './leases.ts'

/** Runs one statement somewhere. */
export type Run = <Row>(statement: Statement) => Promise<QueryResult<Row>>

/**
 * Kysely over whatever runs statements: the pool for reads, one connection for a transaction. It
 * opens no transactions itself, since only their owner knows when they may be repeated.
 */
export function createKysely(run: Run): Kysely<Tables> {
  const connection: DatabaseConnection = {
    executeQuery: (query) => run(query),
    streamQuery() {
      throw notHere()
    },
  }
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => adapter,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        beginTransaction: async () => Promise.reject(notHere()),
        commitTransaction: async () => Promise.reject(notHere()),
        rollbackTransaction: async () => Promise.reject(notHere()),
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
    },
    plugins: [byteOrder],
  })
}

function notHere(): Error {
  return new Error('this connection neither streams nor opens transactions')
}

/**
 * Kysely's own adapter locks migrations for the session, which a pooler in transaction mode would
 * leave on a connection of somebody else: `migratePostgres` does it for the transaction.
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

/**
 * Text columns are made to compare byte by byte, as everywhere else, whatever the collation of the
 * database is: an index on one survives an upgrade of the system's collations.
 */
const byteOrder: KyselyPlugin = {
  transformQuery({ node }): RootOperationNode {
    if (CreateTableNode.is(node)) return { ...node, columns: node.columns.map(collated) }
    if (!AlterTableNode.is(node) || node.columnAlterations === undefined) return node
    return {
      ...node,
      columnAlterations: node.columnAlterations.map((alteration) =>
        alteration.kind === 'AddColumnNode'
          ? { ...alteration, column: collated(alteration.column) }
          : alteration,
      ),
    }
  },
  transformResult: async ({ result }) => result,
}

function collated(column: ColumnDefinitionNode): ColumnDefinitionNode {
  const { dataType } = column
  const isText = DataTypeNode.is(dataType) && dataType.dataType === 'text'
  return isText ? { ...column, dataType: RawNode.createWithSql('text collate "C"') } : column
}
