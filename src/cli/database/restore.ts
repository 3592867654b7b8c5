import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { sqliteFileOf } from '../../storage/open.ts'
import {
  copyDatabase,
  integrityErrors,
  makeSingleFile,
  replaceDatabase,
} from '../../storage/sqlite/backup.ts'
import { makePrivateFolder } from '../../storage/sqlite/file.ts'
import { openMigrated } from '../../storage/sqlite/migrate.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'
import { findBrokenLedgers } from './ledger.ts'

/**
 * Replaces the database by a backup that passes all checks, and keeps the replaced one beside it.
 * Throws while a server uses the database.
 */
export async function restore(
  terminal: Terminal,
  source: string,
  flags: DatabaseFlags & { force?: true },
): Promise<void> {
  const { force = false } = flags
  const file = sqliteFileOf(resolveDatabaseUrl(terminal, flags))
  const staged = `${file}.restoring`
  const replaced = `${file}.replaced-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
  const replaces = existsSync(file)
  makePrivateFolder(dirname(file))
  removeStaged(staged)
  try {
    await stage(terminal, source, staged)
    replaceDatabase(file, staged, replaced, force)
  } finally {
    removeStaged(staged)
  }
  const document = { file, source, ...(replaces ? { before: replaced } : {}) }
  printResult(terminal, document)
  notify(terminal, `${file} is restored from ${source}.`)
  if (replaces) notify(terminal, `The previous database is ${replaced}.`)
  notify(
    terminal,
    `Changes made after the backup are undone:
keys deactivated since then are published again, and API keys revoked since then are valid again. The log stops if it was signed since then: see pubring status.`,
  )
}

/** Copies the backup beside the database, checks it and migrates it to the current schema. */
async function stage(terminal: Terminal, source: string, staged: string): Promise<void> {
  await copyDatabase(source, staged)
  const errors = integrityErrors(staged)
  if (errors.length > 0) throw new Error(`${source} is damaged: ${errors.join('; ')}`)
  const connection = await openMigrated({ file: staged })
  connection.close()
  const broken = await findBrokenLedgers(terminal, `sqlite:${staged}`)
  if (broken.length > 0) throw new Error(`${source} was altered: ${broken.join('; ')}`)
  makeSingleFile(staged)
}

function removeStaged(staged: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(staged + suffix, { force: true })
}
