import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import {
  FileInUseError,
  MissingFileError,
  moveIntoPlace,
  requireRegularFile,
  syncToDisk,
} from '../../../runtime/files.ts'
import { resultCode } from '../errors.ts'
import { requireOwnFile } from './connection.ts'
import { giveToOwnerOf } from './file.ts'
import { nameDamage } from './opening.ts'

/** Pages copied in one step. */
const stepPages = 4_096

/** How long to wait for a lock. */
const timeoutMs = 5_000

/** Result codes of SQLite (https://sqlite.org/rescode.html). */
const lockedCodes = [5, 6]

/**
 * Copies a database, which may be in use, to a new file for its owner only. The copy is one snapshot
 * of what was committed before it began, in a single file.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  if (!existsSync(from)) throw new MissingFileError(`There is no file ${from}.`)
  requireRegularFile(from)
  const source = new DatabaseSync(from, { readOnly: true, timeout: timeoutMs })
  try {
    // Keeps the snapshot: otherwise every write during the copy would restart it.
    source.exec('BEGIN')
    requireOwnFile(source, from)
    const row = source.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()
    // An empty file is a database for SQLite.
    if (row?.tables === 0) throw new MissingFileError(`${from} is empty.`)
    closeSync(openSync(to, 'wx', 0o600))
    await backup(source, to, { rate: stepPages })
  } catch (error) {
    throw nameDamage(from, error)
  } finally {
    source.close()
  }
  makeSingleFile(to)
}

/** Merges the log of a database that is not in use into its file, and syncs the file. */
export function makeSingleFile(file: string): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = DELETE')
  database.close()
  syncToDisk(file)
}

/** One line for each problem that SQLite finds in the file. */
export function integrityErrors(file: string): string[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: timeoutMs })
  try {
    const rows = database.prepare('PRAGMA integrity_check(10)').all()
    return rows.map((row) => String(row.integrity_check)).filter((line) => line !== 'ok')
  } finally {
    database.close()
  }
}

/**
 * Replaces the database by a new one. The old files get names that start with `aside`. Throws if the
 * old database is in use, and, unless `force` is set, if it is too damaged to tell.
 */
export function replaceDatabase(
  file: string,
  replacement: string,
  aside: string,
  force: boolean,
): void {
  giveToOwnerOf(existsSync(file) ? file : dirname(file), replacement)
  const lock = existsSync(file) ? lockExclusively(file, force) : undefined
  try {
    // SQLite would take a remaining log for that of the new database.
    if (sizeOf(`${file}-wal`) > 0) renameSync(`${file}-wal`, `${aside}-wal`)
    for (const suffix of ['-wal', '-shm', '-generation']) rmSync(file + suffix, { force: true })
    if (existsSync(file)) renameSync(file, aside)
    moveIntoPlace(replacement, file, true)
  } finally {
    lock?.close()
  }
}

/** Leaving WAL mode fails while another connection on this machine is open. */
function lockExclusively(file: string, force: boolean): DatabaseSync | undefined {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('PRAGMA journal_mode = DELETE')
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    if (lockedCodes.includes(resultCode(error))) {
      database.close()
      throw new FileInUseError(`${file} is in use. Stop the server first, then repeat this.`)
    }
    if (force) return database
    throw new Error(
      `${file} is damaged, so it is unknown whether a server uses it. Make sure that none does, then repeat this with --force.`,
    )
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
