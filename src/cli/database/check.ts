import { sqliteFileOf } from '../../storage/open.ts'
import { integrityErrors } from '../../storage/sqlite/backup.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { printResult } from '../terminal/output.ts'
import { colorsFor, type Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'
import { findBrokenLedgers } from './ledger.ts'

/**
 * Checks the database or a backup, and the hash chains in it; exit code 1 if one is broken. A
 * server may be running.
 */
export async function check(
  terminal: Terminal,
  file: string | undefined,
  flags: DatabaseFlags,
): Promise<void> {
  const url = file === undefined ? resolveDatabaseUrl(terminal, flags) : `sqlite:${file}`
  const path = sqliteFileOf(url)
  const brokenLedgers = await findBrokenLedgers(terminal, url)
  const faults = [...integrityErrors(path), ...brokenLedgers]
  const whole = faults.length === 0
  const { green, red } = colorsFor(terminal)
  printResult(terminal, { file: path, whole, faults }, () =>
    whole
      ? `${green('whole')}  ${path}\n`
      : faults.map((fault) => `${red('BROKEN')}  ${fault}\n`).join(''),
  )
  if (!whole) terminal.exitCode = exitCodes.failed.code
}
