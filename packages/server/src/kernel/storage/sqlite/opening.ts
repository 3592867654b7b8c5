import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { sql } from 'kysely'
import { MissingFileError } from '../../../runtime/files.ts'
import { resultCode } from '../errors.ts'
import { applicationId } from '../identity.ts'
import type { Migrations } from '../migrations/building.ts'
import { migrate, requireSchema } from '../migrations/index.ts'
import type { Db } from '../schema.ts'
import {
  openSqlite,
  type SqliteConnection,
  type SqliteOptions,
  withTransaction,
} from './connection.ts'
import { giveToOwnerOf } from './file.ts'

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
    // A larger file would delay the start noticeably.
    const isSmall = statSync(location.file).size <= maxCheckedBytes
    if (isSmall) await requireIntact(connection.db, location.file)
    await withTransaction(connection, async () => {
      await migrate(connection.db, migrations)
      connection.run(`PRAGMA application_id = ${applicationId}`)
    })
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
  let connection: SqliteConnection | undefined
  try {
    connection = openSqlite(options)
    await requireGeneration(connection.db, options.file)
    await prepare(connection)
    return connection
  } catch (error) {
    connection?.close()
    throw nameDamage(options.file, error)
  }
}

/** Result codes of SQLite (https://sqlite.org/rescode.html). */
const corrupt = 11
const notADatabase = 26

/** Replaces the error of a damaged file by one that names it, and says whether it was cut off. */
export function nameDamage(file: string, error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  const codes = [resultCode(error), resultCode(cause)]
  if (codes.includes(notADatabase)) return new MissingFileError(`${file} is not a database.`)
  if (!codes.includes(corrupt)) return error
  const { actual, stated } = sizes(file)
  return new MissingFileError(
    actual < stated
      ? `${file} is incomplete: it has ${actual} of ${stated} bytes. Copy it again from where it is whole.`
      : `${file} is damaged. Restore a backup.`,
  )
}

/** The size of a file, and the one that its header states (https://sqlite.org/fileformat.html, section 1.3). */
function sizes(file: string): { actual: number; stated: number } {
  const header = Buffer.alloc(100)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, header, 0, header.length, 0)
  const actual = fstatSync(descriptor).size
  closeSync(descriptor)
  const pageSize = header.readUInt16BE(16)
  return { actual, stated: (pageSize === 1 ? 65_536 : pageSize) * header.readUInt32BE(28) }
}

/** Checks the structure of the file. Throws one line for a person. */
export async function requireIntact(db: Db, file: string): Promise<void> {
  const { rows } = await sql<{ quick_check: string }>`PRAGMA quick_check(1)`.execute(db)
  const problem = rows[0]?.quick_check
  if (problem === 'ok') return
  const line = problem?.replaceAll('\n', ' ')
  throw new Error(`The database ${file} is damaged: ${line}. Restore a backup.`)
}

/**
 * A database can lose its write-ahead log. SQLite then silently uses the file as of the last
 * checkpoint: a new registry may even look empty.
 *
 * The generation is a number in the database (`user_version`) and in this file beside it. It is
 * raised at each start and after each checkpoint, so that its latest value is only in the log. If the
 * file beside the database is ahead, the log is gone.
 */
function generationFile(file: string): string {
  return `${file}-generation`
}

/** Throws one line for a person if the database is behind the file beside it. */
async function requireGeneration(db: Db, file: string): Promise<void> {
  const recorded = readRecorded(file)
  if (recorded <= (await readGeneration(db))) return
  throw new Error(
    `The latest changes of the database ${file} are missing: they were in ${file}-wal, which is gone or was not used. Bring it back, or restore a backup; to continue without those changes, remove ${generationFile(file)}.`,
  )
}

/** Call it after a checkpoint. What is in the log then is lost together with the new generation. */
export async function raiseGeneration(connection: SqliteConnection, file: string): Promise<void> {
  const next = await withTransaction(connection, async () => {
    const generation = (await readGeneration(connection.db)) + 1
    connection.run(`PRAGMA user_version = ${generation}`)
    return generation
  })
  // After the commit, so that a crash in between leaves the file behind, never ahead.
  const name = generationFile(file)
  writeFileSync(`${name}.new`, `${next}\n`, { mode: 0o600 })
  if (process.getuid?.() === 0) giveToOwnerOf(file, `${name}.new`)
  renameSync(`${name}.new`, name)
}

async function readGeneration(db: Db): Promise<number> {
  const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(db)
  return Number(rows[0]?.user_version)
}

/** 0 if there is no file, or if a power loss has left it empty. */
function readRecorded(file: string): number {
  try {
    return Number(readFileSync(generationFile(file), 'utf8')) || 0
  } catch {
    return 0
  }
}
