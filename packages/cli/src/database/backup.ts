import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { isPostgres } from '@pubring/server/kernel/storage/database-url'
import { ownMigrations } from '@pubring/server/kernel/storage/migrations/index'
import { readSchema, sqliteFileOf } from '@pubring/server/kernel/storage/open'
import {
  copyDatabase,
  integrityErrors,
  makeSingleFile,
  replaceDatabase,
} from '@pubring/server/kernel/storage/sqlite/backup'
import { noteBackup } from '@pubring/server/kernel/storage/sqlite/file'
import { openMigrated } from '@pubring/server/kernel/storage/sqlite/opening'
import { makePrivateFolder, moveIntoPlace } from '@pubring/server/runtime/files'
import { present } from '@pubring/server/runtime/present'
import { formatCount } from '@pubring/server/runtime/text'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError, fileError } from '../terminal/failures.ts'
import {
  colorsFor,
  notify,
  printResult,
  quoteForShell,
  type Terminal,
} from '../terminal/terminal.ts'
import { type DatabaseFlags, resolveDatabaseUrl } from './database.ts'
import { acceptLedgers, findLedgerFaults } from './ledger.ts'
import { countRevived, findRevived, type Revived, revivedLines } from './revived.ts'

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
    await copyWhole(source, partial, 'The database')
    isCompared = (await readSchema(`sqlite:${partial}`)) !== 'older'
    if (isCompared) faults = (await findLedgerFaults(terminal, `sqlite:${partial}`)).lines
    if (faults.length > 0) file = `${target}.broken`
    moveIntoPlace(partial, file, force || faults.length > 0)
  } catch (error) {
    rmSync(partial, { force: true })
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    throw code === 'EEXIST' ? alreadyExists(target) : error
  }
  const whole = faults.length === 0
  if (whole) noteBackup(source)
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

/** Copies a database. Throws if SQLite itself finds faults in it. */
async function copyWhole(source: string, target: string, name: string): Promise<void> {
  await copyDatabase(source, target)
  const faults = integrityErrors(target)
  if (faults.length === 0) return
  throw new CommandError('failed', `${name} is damaged: ${faults.join('; ')}`)
}

/**
 * Checks the database or a backup, the hash chains and the log in it, and whether its tables hold what
 * the ledgers say; exit code 1 if something is broken. A server may be running; nothing is written.
 */
export async function check(
  terminal: Terminal,
  file: string | undefined,
  flags: DatabaseFlags,
): Promise<void> {
  const url = file === undefined ? resolveDatabaseUrl(terminal, flags) : `sqlite:${file}`
  const path = isPostgres(url) ? undefined : sqliteFileOf(url)
  const { lines } = await findLedgerFaults(terminal, url)
  const faults = [...(path === undefined ? [] : integrityErrors(path)), ...lines]
  const whole = faults.length === 0
  const { green, red } = colorsFor(terminal)
  const notExamined = path === undefined ? ['pages'] : undefined
  printResult(terminal, { ...present({ file: path, notExamined }), whole, faults }, () =>
    whole
      ? `${green('whole')}  ${path ?? 'the database'}\n`
      : faults.map((fault) => `${red('BROKEN')}  ${fault}\n`).join(''),
  )
  if (path === undefined) notify(terminal, pagesNotExamined)
  if (!whole) terminal.exitCode = exitCodes.failed.code
}

const pagesNotExamined =
  'Not examined: the pages of the tables and indexes, which only PostgreSQL can check (pg_amcheck, and pg_checksums or data_checksums).'

/**
 * Replaces the database by a backup that passes all checks, and keeps the replaced one beside it.
 * Throws while a server uses the database.
 */
export async function restore(
  terminal: Terminal,
  source: string,
  flags: DatabaseFlags & YesFlag & { force?: true; acceptBroken?: true },
): Promise<void> {
  const { force = false, acceptBroken = false } = flags
  const file = sqliteFileOf(resolveDatabaseUrl(terminal, flags))
  const staged = `${file}.restoring`
  const replaced = `${file}.replaced-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
  const replaces = existsSync(file)
  let accepted: string[]
  let revived: Revived | undefined
  makePrivateFolder(dirname(file))
  removeStaged(staged)
  try {
    accepted = await stage(terminal, source, staged, acceptBroken)
    if (replaces) revived = await confirmRevival(terminal, flags, { file, staged })
    replaceDatabase(file, staged, replaced, force)
  } finally {
    removeStaged(staged)
  }
  const document = { file, source, ...(replaces ? { before: replaced } : {}), ...revived }
  printResult(terminal, { ...document, ...(accepted.length > 0 && { accepted }) })
  for (const fault of accepted) notify(terminal, `Accepted: ${fault}`)
  notify(terminal, `${file} is restored from ${source}.`)
  if (replaces) notify(terminal, `The previous database is ${replaced}.`)
  notify(
    terminal,
    `Changes made after the backup are undone. The log stops if it was signed since then: see pubring doctor.`,
  )
}

/**
 * Lists what becomes valid again by the restore, and asks. If that cannot be told, because the present
 * database cannot be read, it asks as well, and returns undefined.
 */
async function confirmRevival(
  terminal: Terminal,
  flags: YesFlag,
  { file, staged }: { file: string; staged: string },
): Promise<Revived | undefined> {
  const confirmation = { question: 'Restore the backup?', needsYes: true }
  let revived: Revived
  try {
    revived = await findRevived(`sqlite:${staged}`, `sqlite:${file}`)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    notify(terminal, `The present database cannot be compared with the backup: ${reason}`)
    await confirm(terminal, flags, { ...confirmation, statement: unknownRevival })
    return undefined
  }
  for (const line of revivedLines(revived)) notify(terminal, line)
  const counts = countRevived(revived)
  if (counts === '') return revived
  const statement = `The restore makes ${counts} valid again.`
  await confirm(terminal, flags, { ...confirmation, statement })
  return revived
}

const unknownRevival = 'What becomes valid again by the restore cannot be told.'

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
  await copyWhole(source, staged, source)
  const connection = await openMigrated({ file: staged }, ownMigrations)
  connection.close()
  const { ledgerIds, lines } = await findLedgerFaults(terminal, `sqlite:${staged}`)
  if (lines.length > 0 && !acceptBroken) {
    const [first, ...others] = lines
    const rest = others.length === 0 ? '' : `; and ${formatCount(others.length, 'more fault')}`
    throw new CommandError('failed', `${source} was altered: ${first}${rest}`, {
      hints: [
        'To restore it as it is, and record that in its ledgers, repeat with --accept-broken.',
        `To see all: pubring check ${quoteForShell(source)}`,
      ],
    })
  }
  await acceptLedgers(`sqlite:${staged}`, ledgerIds)
  makeSingleFile(staged)
  return lines
}

function removeStaged(staged: string): void {
  for (const suffix of ['', '-wal', '-shm', '-generation']) rmSync(staged + suffix, { force: true })
}
