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
import { CommandError } from '../terminal/failures.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { acceptLedgers } from './accept.ts'
import { damaged } from './backup.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'
import { findLedgerFaults } from './ledger.ts'

/**
 * Replaces the database by a backup that passes all checks, and keeps the replaced one beside it.
 * Throws while a server uses the database.
 */
export async function restore(
  terminal: Terminal,
  source: string,
  flags: DatabaseFlags & { force?: true; acceptBroken?: true },
): Promise<void> {
  const { force = false, acceptBroken = false } = flags
  const file = sqliteFileOf(resolveDatabaseUrl(terminal, flags))
  const staged = `${file}.restoring`
  const replaced = `${file}.replaced-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
  const replaces = existsSync(file)
  let accepted: string[]
  makePrivateFolder(dirname(file))
  removeStaged(staged)
  try {
    accepted = await stage(terminal, source, staged, acceptBroken)
    replaceDatabase(file, staged, replaced, force)
  } finally {
    removeStaged(staged)
  }
  const document = { file, source, ...(replaces ? { before: replaced } : {}) }
  printResult(terminal, { ...document, ...(accepted.length > 0 && { accepted }) })
  for (const fault of accepted) notify(terminal, `Accepted: ${fault}`)
  notify(terminal, `${file} is restored from ${source}.`)
  if (replaces) notify(terminal, `The previous database is ${replaced}.`)
  notify(
    terminal,
    `Changes made after the backup are undone:
keys deactivated since then are published again, and API keys revoked since then are valid again. The log stops if it was signed since then: see pubring status.`,
  )
}

/**
 * Copies the backup beside the database, checks it and migrates it to the current schema. Returns the
 * faults that were accepted.
 */
async function stage(
  terminal: Terminal,
  source: string,
  staged: string,
  acceptBroken: boolean,
): Promise<string[]> {
  await copyDatabase(source, staged)
  const errors = integrityErrors(staged)
  if (errors.length > 0) throw damaged(source, errors)
  const connection = await openMigrated({ file: staged })
  connection.close()
  const { ledgerIds, lines } = await findLedgerFaults(terminal, `sqlite:${staged}`)
  if (lines.length > 0 && !acceptBroken) {
    throw new CommandError('failed', `${source} was altered: ${lines.join('; ')}`, {
      hints: ['To restore it as it is, and record that in its ledgers: --accept-broken'],
    })
  }
  await acceptLedgers(`sqlite:${staged}`, ledgerIds)
  makeSingleFile(staged)
  return lines
}

function removeStaged(staged: string): void {
  for (const suffix of ['', '-wal', '-shm', '-generation']) rmSync(staged + suffix, { force: true })
}
