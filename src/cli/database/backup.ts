import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { loadConfig } from '../../config/server-settings.ts'
import { sqliteFileOf } from '../../storage/open.ts'
import { copyDatabase, integrityErrors, moveIntoPlace } from '../../storage/sqlite/backup.ts'
import { notify, printResult } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { DatabaseFlags } from './flags.ts'

/**
 * Copies the configured database to a file, whether a server runs or not. The file is there only
 * once the copy is whole, checked and on the disk.
 */
export async function backUp(
  terminal: Terminal,
  target: string,
  flags: DatabaseFlags & { force?: true },
): Promise<void> {
  const { databaseUrl, force = false } = flags
  const source = sqliteFileOf(loadConfig(terminal.env, { databaseUrl }).databaseUrl)
  if (existsSync(target) && !force) throw taken(target)
  if (!existsSync(dirname(target))) throw new Error(`There is no folder ${dirname(target)}.`)
  const partial = `${target}.partial`
  rmSync(partial, { force: true })
  try {
    await copyDatabase(source, partial)
    const faults = integrityErrors(partial)
    if (faults.length > 0) throw new Error(`The database is damaged: ${faults.join('; ')}`)
    moveIntoPlace(partial, target, force)
  } catch (error) {
    rmSync(partial, { force: true })
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw code === 'EEXIST' ? taken(target) : error
  }
  printResult(terminal, flags.json, { file: target }, () => '')
  notify(terminal, `${target} holds all that was acknowledged before, and is whole.`)
}

function taken(target: string): Error {
  return new Error(`${target} exists. Name another file, or repeat this with --force.`)
}
