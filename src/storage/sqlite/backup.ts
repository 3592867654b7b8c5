import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'

/** Pages that one step of a copy takes. */
const stepPages = 4_096

/** Milliseconds that a copy waits for a lock. */
const timeout = 5_000

/** Result codes of SQLite (https://sqlite.org/rescode.html). */
const locked = [5, 6]
const notADatabase = 26

/**
 * Copies a database that may be in use to a new file, for its owner alone: exactly what was
 * committed before the copy began, from one snapshot. The copy needs no other file beside it.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  if (!existsSync(from)) throw new Error(`There is no file ${from}.`)
  const source = new DatabaseSync(from, { readOnly: true, timeout })
  try {
    // Holds the snapshot: without it the copy would begin anew whenever somebody writes.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    closeSync(openSync(to, 'wx', 0o600))
    await backup(source, to, { rate: stepPages })
  } catch (error) {
    throw codeOf(error) === notADatabase ? new Error(`${from} is not a database.`) : error
  } finally {
    source.close()
  }
  makeSingleFile(to)
}

/** Brings all of a database that nobody uses into the one file, and the file to the disk. */
export function makeSingleFile(file: string): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = DELETE')
  database.close()
  syncToDisk(file)
}

/** What SQLite finds wrong with the file, a line each; none where it is whole. */
export function integrityErrors(file: string): string[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout })
  try {
    const rows = database.prepare('PRAGMA integrity_check(10)').all()
    return rows.map((row) => String(row.integrity_check)).filter((line) => line !== 'ok')
  } finally {
    database.close()
  }
}

/** Gives the file its name; where the name is taken and must not be replaced, it throws EEXIST. */
export function moveIntoPlace(from: string, to: string, replace: boolean): void {
  if (replace) renameSync(from, to)
  else {
    linkSync(from, to)
    rmSync(from)
  }
  syncToDisk(dirname(to))
}

/**
 * Puts the new database in the place of the one that is there, whose files get names that begin
 * with `aside`. Throws where anybody uses it; where it is too damaged to tell, unless `force`.
 */
export function replaceDatabase(file: string, by: string, aside: string, force: boolean): void {
  giveToOwnerOf(existsSync(file) ? file : dirname(file), by)
  const lock = existsSync(file) ? lockAlone(file, force) : undefined
  try {
    // A log that is left over would be taken for one of the new database.
    if (sizeOf(`${file}-wal`) > 0) renameSync(`${file}-wal`, `${aside}-wal`)
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
    if (existsSync(file)) renameSync(file, aside)
    moveIntoPlace(by, file, true)
  } finally {
    lock?.close()
  }
}

/** Where root restores, the user that the server runs as must be able to open the file. */
function giveToOwnerOf(path: string, file: string): void {
  const { uid, gid } = statSync(path)
  if (statSync(file).uid !== uid) chownSync(file, uid, gid)
}

/** Leaving WAL mode takes that no other connection is open, on this machine. */
function lockAlone(file: string, force: boolean): DatabaseSync | undefined {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('PRAGMA journal_mode = DELETE')
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    if (locked.includes(codeOf(error))) {
      database.close()
      throw new Error(`${file} is in use: stop the server first, and repeat this.`)
    }
    if (force) return database
    throw new Error(
      `${file} is damaged, so that nobody can tell whether a server uses it. Make sure that none does, and repeat this with --force.`,
    )
  }
}

function codeOf(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
