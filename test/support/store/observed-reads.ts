import type { RootOperationNode } from 'kysely'
import type { Db } from '../../../packages/server/src/kernel/storage/schema.ts'

interface Observer {
  /** Called with each statement that is built; those that are compiled once are built once. */
  built?(node: RootOperationNode): void
  /** Called with the number of rows of each result, which is returned when the promise resolves. */
  read?(rows: number): void | Promise<void>
}

/** The database, whose reads are observed. */
export function observedReads(db: Db, { built, read }: Observer): Db {
  return db.withPlugin({
    transformQuery({ node }) {
      built?.(node)
      return node
    },
    async transformResult({ result }) {
      await read?.(result.rows.length)
      return result
    },
  })
}
