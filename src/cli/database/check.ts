import { loadConfig } from '../../config/server-settings.ts'
import { openLedgerReader, sqliteFileOf } from '../../storage/open.ts'
import { integrityErrors } from '../../storage/sqlite/backup.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { printResult } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './flags.ts'
import { brokenLedgers } from './ledgers.ts'

/**
 * Checks a database file, the configured one or a backup, and the hash chains in it; exit code 1
 * where something is wrong. A server may be running on it.
 */
export async function check(
  terminal: Terminal,
  file: string | undefined,
  flags: DatabaseFlags,
): Promise<void> {
  const { databaseUrl } = flags
  const url =
    file === undefined ? loadConfig(terminal.env, { databaseUrl }).databaseUrl : `sqlite:${file}`
  const path = sqliteFileOf(url)
  const ledgers = await openLedgerReader(url)
  try {
    const faults = [...integrityErrors(path), ...(await brokenLedgers(ledgers))]
    const { green, red } = colorsFor(terminal.stdout, terminal.env)
    printResult(terminal, flags.json, { file: path, whole: faults.length === 0, faults }, () =>
      faults.length === 0
        ? `${green('whole')}  ${path}\n`
        : faults.map((fault) => `${red('BROKEN')}  ${fault}\n`).join(''),
    )
    if (faults.length > 0) terminal.exitCode = exitCodes.failed.code
  } finally {
    await ledgers.close()
  }
}
