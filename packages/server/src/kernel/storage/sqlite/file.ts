import {
  chownSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder } from '../../../runtime/files.ts'
import { storageUnavailable } from '../../faults.ts'

/** The first bytes of every SQLite database (https://sqlite.org/fileformat.html, section 1.2). */
const magic = Buffer.from('SQLite format 3\0', 'latin1')

/**
 * Opens the database file before SQLite does, and creates it for its owner only if there is none.
 * Keep the descriptor open for the life of the process: closing any descriptor of a file drops the
 * locks that SQLite holds on it (https://sqlite.org/howtocorrupt.html, section 2.2). Throws one line
 * for a person.
 */
export function openDatabaseFile(file: string): number {
  requireWholeDatabase(file)
  try {
    makePrivateFolder(dirname(file))
    return openSync(file, 'a+', 0o600)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    throw new Error(`The database ${file} cannot be opened for writing by this user (${code}).`)
  }
}

/** Throws one line for a person if the log has no database: SQLite would start a new registry. */
export function requireWholeDatabase(file: string): void {
  if (existsSync(file) || !existsSync(`${file}-wal`)) return
  throw new Error(
    `The database ${file} is gone, but ${file}-wal is there. Bring the database back or restore a backup; to start anew, remove ${file}-wal.`,
  )
}

/**
 * Throws `storage_unavailable` unless the path leads to the open file. SQLite itself would continue
 * with the removed file or create a new one, and acknowledged commits would be lost.
 */
export function checkPath(file: string, descriptor: number): void {
  const opened = fstatSync(descriptor)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw storageUnavailable('The database file is missing.')
  if (found.ino !== opened.ino || found.dev !== opened.dev) {
    throw storageUnavailable('The database was replaced by another file.')
  }
}

/** Also checks that the file is still a database: SQLite may have cached the pages that would tell. */
export function checkFile(file: string, descriptor: number): void {
  checkPath(file, descriptor)
  const start = Buffer.alloc(magic.length)
  readSync(descriptor, start, 0, start.length, 0)
  if (!start.equals(magic)) throw storageUnavailable('The database file is no longer a database.')
}

export function isIntact(file: string, descriptor: number): boolean {
  try {
    checkFile(file, descriptor)
    return true
  } catch {
    return false
  }
}

/** The file beside a database whose time is that of its last backup. */
const backupNote = (file: string) => `${file}.backed-up`

/** Notes that a backup was made now, unless this user may not write beside the database. */
export function noteBackup(file: string): void {
  try {
    writeFileSync(backupNote(file), '', { mode: 0o600 })
  } catch {
    // The backup is whole all the same.
  }
}

/** When a backup was last noted. */
export function lastBackup(file: string): string | undefined {
  return statSync(backupNote(file), { throwIfNoEntry: false })?.mtime.toISOString()
}

/** Lets the user of the server, who owns `path`, open a file that root has made. */
export function giveToOwnerOf(path: string, file: string): void {
  const { uid, gid } = statSync(path)
  if (statSync(file).uid !== uid) chownSync(file, uid, gid)
}
