import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { inspectDatabase } from '../../storage/inspect.ts'
import { sqliteFileOf } from '../../storage/open.ts'
import { copyDatabase, integrityErrors, moveIntoPlace } from '../../storage/sqlite/backup.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError, fileError } from '../terminal/failures.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'
import { findLedgerFaults } from './ledger.ts'

/**
 * Copies the database to a file, with or without a running server. The file appears only once the
 * copy is complete, checked and on disk. A copy whose ledgers are broken, or contradict its tables,
 * becomes `FILE.broken` instead, with exit code 1: it may be all there is, and must not replace a good
 * backup.
 */
export async function backUp(
  terminal: Terminal,
  target: string,
  flags: DatabaseFlags & { force?: true },
): Promise<void> {
  const { force = false } = flags
  const source = sqliteFileOf(resolveDatabaseUrl(terminal, flags))
  if (existsSync(target) && !force) throw alreadyExists(target)
  if (!existsSync(dirname(target))) throw fileError(`There is no folder ${dirname(target)}.`)
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  let file = target
  let faults: string[] = []
  let isCompared: boolean
  try {
    await copyDatabase(source, partial)
    const errors = integrityErrors(partial)
    if (errors.length > 0) throw damaged('The database', errors)
    const { schema } = await inspectDatabase({ databaseUrl: `sqlite:${partial}` })
    isCompared = schema !== 'older'
    if (isCompared) faults = (await findLedgerFaults(terminal, `sqlite:${partial}`)).lines
    if (faults.length > 0) file = `${target}.broken`
    moveIntoPlace(partial, file, force || faults.length > 0)
  } catch (error) {
    rmSync(partial, { force: true })
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw code === 'EEXIST' ? alreadyExists(target) : error
  }
  const whole = faults.length === 0
  printResult(terminal, { file, whole, ...(whole ? {} : { faults }) })
  for (const fault of faults) notify(terminal, `BROKEN  ${fault}`)
  const state = whole
    ? `is ${isCompared ? 'whole' : 'of an older release, so its tables were not compared with its ledgers'}`
    : `is as broken as the database; ${target} was not written`
  notify(terminal, `${file} contains every change acknowledged so far, and ${state}.`)
  if (!whole) terminal.exitCode = exitCodes.failed.code
}

function alreadyExists(target: string): CommandError {
  return fileError(`${target} exists. Choose another file, or overwrite it with --force.`)
}

/** The error of a database with faults that SQLite finds itself. */
export function damaged(database: string, faults: readonly string[]): CommandError {
  return new CommandError('failed', `${database} is damaged: ${faults.join('; ')}`)
}
