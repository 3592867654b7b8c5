/**
 * Detects that a database has lost its write-ahead log. SQLite then silently uses the file as of the
 * last checkpoint: a new registry may even look empty.
 *
 * The generation is a number in the database (`user_version`) and in a small file beside it. It is
 * raised at each start and after each checkpoint, so that its latest value is only in the log. If the
 * file beside the database is ahead, the log is gone.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type SqliteConnection, withTransaction } from './connection.ts'

function generationFile(file: string): string {
  return `${file}-generation`
}

/** Throws one line for a person if the database is behind the file beside it. */
export async function requireGeneration(db: Db, file: string): Promise<void> {
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
