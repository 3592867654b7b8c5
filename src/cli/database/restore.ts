import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { loadConfig } from '../../config/server-settings.ts'
import { openLedgerReader, sqliteFileOf } from '../../storage/open.ts'
import {
  copyDatabase,
  integrityErrors,
  makeSingleFile,
  replaceDatabase,
} from '../../storage/sqlite/backup.ts'
import { makePrivateFolder } from '../../storage/sqlite/folders.ts'
import { openMigrated } from '../../storage/sqlite/migrate.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './flags.ts'
import { brokenLedgers } from './ledgers.ts'

/**
 * Puts a backup in the place of the configured database, after it has been found whole. What was
 * there stays beside it. Refuses while a server uses the database.
 */
export async function restore(
  terminal: Terminal,
  source: string,
  flags: DatabaseFlags & { force?: true },
): Promise<void> {
  const { databaseUrl, force = false } = flags
  const file = sqliteFileOf(loadConfig(terminal.env, { databaseUrl }).databaseUrl)
  const staged = `${file}.restoring`
  const aside = `${file}.replaced-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
  const replaced = existsSync(file)
  makePrivateFolder(dirname(file))
  removeStaged(staged)
  try {
    await stage(source, staged)
    replaceDatabase(file, staged, aside, force)
  } finally {
    removeStaged(staged)
  }
  const document = { file, source, ...(replaced ? { before: aside } : {}) }
  printResult(terminal, flags.json, document, () => '')
  notify(
    terminal,
    `${file} is restored from ${source}.
${replaced ? `What was there before is ${aside}.\n` : ''}All that was changed after the backup is undone: keys that were switched off since then are
published again, and API keys that were revoked since then work again.`,
  )
}

/** The backup beside the database, in the schema of this release. */
async function stage(source: string, staged: string): Promise<void> {
  await copyDatabase(source, staged)
  const faults = integrityErrors(staged)
  if (faults.length > 0) throw new Error(`${source} is damaged: ${faults.join('; ')}`)
  const connection = await openMigrated({ file: staged })
  connection.close()
  const ledgers = await openLedgerReader(`sqlite:${staged}`)
  try {
    const broken = await brokenLedgers(ledgers)
    if (broken.length > 0) throw new Error(`${source} was altered: ${broken.join('; ')}`)
  } finally {
    await ledgers.close()
  }
  makeSingleFile(staged)
}

function removeStaged(staged: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(staged + suffix, { force: true })
}
