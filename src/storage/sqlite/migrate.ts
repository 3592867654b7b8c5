import { migrate } from '../migrations/index.ts'
import { begin, commit, openSqlite, rollback, type SqliteConnection } from './connection.ts'

/**
 * A connection that can write, to a file whose schema is that of this release. Processes that start
 * together on one file wait for one another. Rejects where a newer release wrote it.
 */
export async function openMigrated(where: {
  file: string
  descriptor?: number
}): Promise<SqliteConnection> {
  const connection = openSqlite({ ...where, role: 'writer' })
  try {
    await begin.execute(connection.db)
    await migrate(connection.db, { transactions: false })
    await commit.execute(connection.db)
  } catch (error) {
    if (connection.inTransaction()) await rollback.execute(connection.db)
    connection.close()
    throw error
  }
  return connection
}
