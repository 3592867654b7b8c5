import { existsSync, statSync } from 'node:fs'
import { sql } from 'kysely'
import { MissingFileError } from '../../../runtime/files.ts'
import type { Migrations } from '../migrations/building.ts'
import { migrate, requireSchema } from '../migrations/index.ts'
import type { Db } from '../schema.ts'
import {
  openSqlite,
  type SqliteConnection,
  type SqliteOptions,
  withTransaction,
} from './connection.ts'
import { requireGeneration } from './generation.ts'

/** The check takes about 4 ms per megabyte; `pubring check` examines files of any size. */
const maxCheckedBytes = 32 * 2 ** 20

/**
 * A connection that can write, to a file whose schema is up to date. Processes that start together
 * wait for each other. Rejects if the file is damaged, has lost its log, or was migrated by a newer
 * release beside which this one cannot run.
 */
export function openMigrated(
  location: { file: string; descriptor?: number },
  migrations: Migrations,
): Promise<SqliteConnection> {
  return openChecked({ ...location, role: 'writer' }, async (connection) => {
    await requireIntact(connection.db, location.file)
    await withTransaction(connection, () => migrate(connection.db, migrations))
  })
}

/**
 * Opens an existing file, which a server may be using. Rejects if it has lost its log, and unless its
 * schema is what the caller requires.
 */
export async function openWithoutMigrating(
  options: Pick<SqliteOptions, 'file' | 'role'>,
  requirement = requireSchema,
): Promise<SqliteConnection> {
  if (!existsSync(options.file))
    throw new MissingFileError(`There is no database at ${options.file}.`)
  return openChecked(options, ({ db }) => requirement(db))
}

async function openChecked(
  options: SqliteOptions,
  prepare: (connection: SqliteConnection) => Promise<void>,
): Promise<SqliteConnection> {
  const connection = openSqlite(options)
  try {
    await requireGeneration(connection.db, options.file)
    await prepare(connection)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Checks the structure of the file, unless that would delay the start noticeably. */
async function requireIntact(db: Db, file: string): Promise<void> {
  if (statSync(file).size > maxCheckedBytes) return
  const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check(1)`.execute(db)
  const problem = rows[0]?.quick_check
  if (problem === 'ok') return
  throw new Error(`The database ${file} is damaged: ${problem}. Restore a backup.`)
}
