import { migrate } from '../migrations/index.ts'
import { begin, commit, openSqlite, rollback, type SqliteConnection } from './connection.ts'

/**
 * A connection that can write, to a file whose schema is up to date. Processes that start together
 * wait for each other. Rejects if a newer release has migrated the file.
 */
export async function openMigrated(location: {
  file: string
  descriptor?: number
}): Promise<SqliteConnection> {
  const connection = openSqlite({ ...location, role: 'writer' })
  try {
    await begin.execute(connection.db)
    await migrate(connection.db)
    await commit.execute(connection.db)
  } catch (error) {
    if (connection.inTransaction()) await rollback.execute(connection.db)
    connection.close()
    throw error
  }
  return connection
}
