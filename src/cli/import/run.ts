import { PubringError } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { readAlgorithm } from '../keys/files.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { missingProjects, withNewProjects } from './projects.ts'
import { countRows, printImport } from './report.ts'
import { type ImportRow, rowsOf } from './rows.ts'
import { type Overflow, runImport } from './send.ts'
import { privateKeyCode, type SourceProject } from './sources/entry.ts'
import { readSource } from './sources/read.ts'

/** Flags of `import`. */
export interface ImportFlags extends ConnectionFlags {
  all?: true
  algorithm?: string
  namePrefix?: string
  kids?: 'keep' | 'new'
  skipRefused?: true
  dryRun?: true
  allowHttp?: true
}

/** Keys that one import may bring. */
const mostKeys = 10_000

/**
 * Imports the keys of a source, all or none unless `--skip-refused` is given, and tells what became of
 * each. Throws where any was refused that was not to be left out.
 */
export async function importSource(
  terminal: Terminal,
  source: string,
  flags: ImportFlags,
): Promise<void> {
  const algorithm = readAlgorithm(flags.algorithm)
  const signal = terminal.interruptSignal()
  await withSession(terminal, flags, async (session) => {
    const { timeout } = session.connection
    const allowHttp = flags.allowHttp === true
    const read = await readSource(source, terminal, { timeout, allowHttp, signal })
    const projects = targets(session, read, flags)
    requireSize(projects)
    const { namePrefix = '', kids } = flags
    const rows = rowsOf(projects, { algorithm, namePrefix, kids })
    refusePrivateKeys(session, rows, flags)
    const names = flags.all === true ? await missingProjects(session, rows) : []
    const overflow = await withNewProjects(session, names, flags.dryRun === true, rows, () =>
      runAll(session, rows, flags, signal),
    )
    printImport(session, rows, flags.dryRun === true)
    throwRefused(rows, overflow, flags)
  })
}

/** Which project the keys go to: that of the command, or with `--all` that of the same name. */
function targets(
  { project }: Session,
  projects: readonly SourceProject[],
  { all }: ImportFlags,
): (SourceProject & { target: string })[] {
  if (all !== true && projects.length > 1) {
    throw usageError(
      `The source holds the keys of ${projects.length} projects.`,
      'With --all each goes to the project of its name, which is made where it is not there.',
    )
  }
  return projects.map((each) => {
    if (all !== true) return { ...each, target: project }
    if (each.name !== undefined) return { ...each, target: each.name }
    throw usageError('The source names no projects: leave --all out.')
  })
}

function requireSize(projects: readonly SourceProject[]): void {
  const count = projects.reduce((sum, { entries }) => sum + entries.length, 0)
  if (count > mostKeys) {
    const message = `The source holds ${count} keys; one import takes ${mostKeys}.`
    throw usageError(message, 'Split it. Nothing was sent.')
  }
}

/** One private key keeps everything here, whatever else was asked for. */
function refusePrivateKeys(
  session: Session,
  rows: readonly ImportRow[],
  { dryRun }: ImportFlags,
): void {
  const found = rows.filter(({ errors }) => errors.some(({ code }) => code === privateKeyCode))
  const [first] = found
  if (first === undefined) return
  printImport(session, rows, dryRun === true)
  const others = found.length === 1 ? '' : `, and ${found.length - 1} more`
  throw new CommandError('refused', `${first.place} is a private key${others}. Nothing was sent.`, {
    code: privateKeyCode,
    hints: ['Take it out of the source; import the public half: openssl pkey -in key.pem -pubout'],
  })
}

async function runAll(
  session: Session,
  rows: readonly ImportRow[],
  { dryRun, skipRefused }: ImportFlags,
  signal: AbortSignal,
): Promise<Overflow | undefined> {
  const bar = createProgressBar(session.terminal)
  try {
    return await runImport(session, rows, {
      dryRun: dryRun === true,
      skipRefused: skipRefused === true,
      signal,
      progress: (done, total) => bar.show('Importing', done, total),
    })
  } catch (error) {
    bar.stop()
    if (countRows(rows).created > 0) printImport(session, rows, dryRun === true)
    throw withAdvice(error, rows)
  } finally {
    bar.stop()
  }
}

function withAdvice(error: unknown, rows: readonly ImportRow[]): unknown {
  if (!(error instanceof PubringError) || error.code !== 'insufficient_role') return error
  const isHome = rows.some(({ item }) => item?.createTime !== undefined || item?.kid !== undefined)
  if (!isHome) return error
  return new CommandError(
    'forbidden',
    'To keep kids and times takes an API key with the role admin for all projects.',
    {
      code: error.code,
      hints: ['With --kids new the keys get new ones. Nothing was imported.'],
    },
  )
}

function throwRefused(
  rows: readonly ImportRow[],
  overflow: Overflow | undefined,
  { skipRefused }: ImportFlags,
): void {
  const { created, refused } = countRows(rows)
  if (overflow !== undefined) {
    throw new CommandError('conflict', `${overflow.detail} Nothing was imported.`, {
      code: overflow.code,
    })
  }
  if (refused === 0 || skipRefused === true) return
  const others = created === 0 ? 'so none was imported' : `${created} others were imported`
  throw new CommandError('refused', `${refused} of ${rows.length} keys are refused, ${others}.`, {
    code: 'import_refused',
    hints: [
      'Correct them or take them out and run it again, or leave them out with --skip-refused.',
    ],
  })
}
