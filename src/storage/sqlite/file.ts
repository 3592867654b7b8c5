import { existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { PubringError } from '../../errors.ts'
import { makePrivateFolder } from './folders.ts'

/** How every SQLite database begins (https://sqlite.org/fileformat.html, section 1.2). */
const magic = Buffer.from('SQLite format 3\0', 'latin1')

/**
 * The descriptor of the database file, opened before SQLite opens it, and created with access for
 * the owner alone where there is none. It must stay open as long as the process lives: closing any
 * descriptor of a file drops the locks that SQLite holds on it
 * (https://sqlite.org/howtocorrupt.html, section 2.2). Throws one line for a person.
 */
export function openDatabaseFile(file: string): number {
  // Without its database the log would be thrown away, and a new registry begun in their place.
  if (existsSync(`${file}-wal`) && !existsSync(file)) {
    throw new Error(
      `The database ${file} is gone, but ${file}-wal is there. Bring it back or restore a backup; to begin anew, remove both.`,
    )
  }
  try {
    makePrivateFolder(dirname(file))
    return openSync(file, 'a+', 0o600)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    throw new Error(`The database ${file} cannot be opened for writing by this user (${code}).`)
  }
}

/**
 * Throws `storage_unavailable` where the path no longer leads to the file that is held. SQLite itself
 * would go on with that one, or make a new one: what it then commits would be acknowledged and lost.
 */
export function checkPath(file: string, descriptor: number): void {
  const held = fstatSync(descriptor)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw away('The database file is gone.')
  if (found.ino !== held.ino || found.dev !== held.dev) {
    throw away('Another file has taken the place of the database.')
  }
}

/** The same, and where the file is no database any more, whatever SQLite has of it in memory. */
export function checkFile(file: string, descriptor: number): void {
  checkPath(file, descriptor)
  const head = Buffer.alloc(magic.length)
  readSync(descriptor, head, 0, head.length, 0)
  if (!head.equals(magic)) throw away('The database file is not a database any more.')
}

export function isIntact(file: string, descriptor: number): boolean {
  try {
    checkFile(file, descriptor)
    return true
  } catch {
    return false
  }
}

function away(detail: string): PubringError {
  return new PubringError('storage_unavailable', detail, { retryAfter: 5 })
}
