import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { sqliteFileOf } from '../../storage/open.ts'
import { copyDatabase, integrityErrors, moveIntoPlace } from '../../storage/sqlite/backup.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './flags.ts'

/**
 * Copies the database to a file, with or without a running server. The file appears only once the
 * copy is complete, checked and on disk.
 */
export async function backUp(
  terminal: Terminal,
  target: string,
  flags: DatabaseFlags & { force?: true },
): Promise<void> {
  const { force = false } = flags
  const source = sqliteFileOf(resolveDatabaseUrl(terminal, flags))
  if (existsSync(target) && !force) throw alreadyExists(target)
  if (!existsSync(dirname(target))) throw new Error(`There is no folder ${dirname(target)}.`)
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  try {
    await copyDatabase(source, partial)
    const errors = integrityErrors(partial)
    if (errors.length > 0) throw new Error(`The database is damaged: ${errors.join('; ')}`)
    moveIntoPlace(partial, target, force)
  } catch (error) {
    rmSync(partial, { force: true })
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw code === 'EEXIST' ? alreadyExists(target) : error
  }
  printResult(terminal, { file: target })
  notify(terminal, `${target} contains every change acknowledged so far, and is whole.`)
}

function alreadyExists(target: string): Error {
  return new Error(`${target} exists. Choose another file, or overwrite it with --force.`)
}
