import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { waitLimitMs } from '../waiting.ts'

/** Overwrites every byte of the open database file, as a broken disk would. */
export function destroyDatabase(file: string): { restore(): void } {
  // The server may be writing to the file.
  const other = new DatabaseSync(file, { timeout: waitLimitMs })
  // A change by another connection invalidates what the server's connections have cached.
  other.exec('CREATE TABLE fault_mark (a INTEGER)')
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const content = readFileSync(file)
  overwrite(file, Buffer.alloc(content.length, 0x55))
  return {
    restore() {
      overwrite(file, content)
      other.exec('DROP TABLE fault_mark')
      other.close()
    },
  }
}

/** Takes SQLite's strongest lock on the file, as another process can. */
export function lockDatabase(file: string): { release(): void } {
  const other = new DatabaseSync(file, { timeout: waitLimitMs })
  other.exec('BEGIN EXCLUSIVE')
  return {
    release() {
      other.exec('ROLLBACK')
      other.close()
    },
  }
}

function overwrite(file: string, content: Buffer): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, content, 0, content.length, 0)
  closeSync(descriptor)
}
