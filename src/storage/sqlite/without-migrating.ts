import { existsSync } from 'node:fs'
import { MissingFileError } from '../../runtime/files.ts'
import { requireSchema } from '../migrations/index.ts'
import { openSqlite, type SqliteConnection, type SqliteOptions } from './connection.ts'
import { requireGeneration } from './generation.ts'

/**
 * Opens an existing file, which a server may be using. Rejects if it has lost its log, and unless its
 * schema is what the caller requires.
 */
export async function openWithoutMigrating(
  options: Pick<SqliteOptions, 'file' | 'role'>,
  requirement = requireSchema,
): Promise<SqliteConnection> {
  const { file } = options
  if (!existsSync(file)) throw new MissingFileError(`There is no database at ${file}.`)
  const connection = openSqlite(options)
  try {
    await requireGeneration(connection.db, file)
    await requirement(connection.db)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
