import { sqliteFileOf } from '../../storage/open.ts'
import { integrityErrors } from '../../storage/sqlite/backup.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { printResult } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'
import { findLedgerFaults } from './ledger.ts'

/**
 * Checks the database or a backup, the hash chains in it, and whether its tables hold what the ledgers
 * say; exit code 1 if something is broken. A server may be running.
 */
export async function check(
  terminal: Terminal,
  file: string | undefined,
  flags: DatabaseFlags,
): Promise<void> {
  const url = file === undefined ? resolveDatabaseUrl(terminal, flags) : `sqlite:${file}`
  const path = sqliteFileOf(url)
  const { lines } = await findLedgerFaults(terminal, url)
  const faults = [...integrityErrors(path), ...lines]
  const whole = faults.length === 0
  const { green, red } = colorsFor(terminal)
  printResult(terminal, { file: path, whole, faults }, () =>
    whole
      ? `${green('whole')}  ${path}\n`
      : faults.map((fault) => `${red('BROKEN')}  ${fault}\n`).join(''),
  )
  if (!whole) terminal.exitCode = exitCodes.failed.code
}
