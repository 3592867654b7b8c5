import type { Session } from '../connection/session.ts'
import { parseAlgorithm } from '../keys/kinds.ts'
import { CommandError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import {
  findMissingProjects,
  requireProjects,
  skipMissingProjects,
  withNewProjects,
} from './projects.ts'
import { markPresent, settleUnanswered } from './registered.ts'
import { countRows, printImport } from './report.ts'
import { type ImportRow, privateKeyError, toRows } from './rows.ts'
import { type SendOptions, sendRows } from './send.ts'
import type { SourceEntry } from './sources/entry.ts'
import { readSource } from './sources/read.ts'

/** Flags of `import`. */
interface ImportFlags {
  all?: true
  algorithm?: string
  labelPrefix?: string
  skipRefused?: true
  dryRun?: true
  allowHttp?: true
}

/**
 * Imports the keys of a source, all or none unless `--skip-refused` is given, and reports the
 * outcome of each. Throws if any was rejected and not to be skipped, and if all were.
 */
export async function importSource(
  session: Session,
  source: string,
  flags: ImportFlags,
): Promise<void> {
  const { labelPrefix } = flags
  const { all = false, dryRun = false, skipRefused = false, allowHttp = false } = flags
  const { terminal, timeoutMs } = session
  const algorithm = parseAlgorithm(flags.algorithm)
  const signal = terminal.interruptSignal()
  const { entries, projects } = await readSource(source, terminal, { timeoutMs, allowHttp, signal })
  requireProjects(entries, all)
  const project = all ? undefined : session.project
  const privateKey = privateKeyError(entries)
  const keepsIds = privateKey === undefined && (await canKeepIds(session, entries))
  const rows = toRows(entries, { project, algorithm, labelPrefix, keepsIds })
  if (privateKey !== undefined) {
    printImport(session, rows, dryRun)
    throw privateKey
  }
  const missing = all ? await findMissingProjects(session, rows, projects) : []
  if (dryRun) skipMissingProjects(session, missing, rows)
  const created = new Set(missing.map(({ name }) => name))
  await markPresent(
    session,
    rows.filter(({ project: name }) => !created.has(name)),
  )
  const overflow = await withNewProjects(session, dryRun ? [] : missing, rows, () =>
    sendWithProgress(session, rows, { dryRun, skipRefused, signal }),
  )
  printImport(session, rows, dryRun)
  const error = overflow ?? refusedError(rows, flags)
  if (error !== undefined) throw error
}

/** Only an admin of all projects may restore the ids and times of an export. */
async function canKeepIds({ client }: Session, entries: readonly SourceEntry[]): Promise<boolean> {
  if (!entries.some((entry) => 'key' in entry && entry.key.id !== undefined)) return false
  const { grants } = await client.sessions.self()
  return grants.some(({ role, projectId }) => role === 'admin' && projectId === undefined)
}

async function sendWithProgress(
  session: Session,
  rows: readonly ImportRow[],
  options: SendOptions,
): Promise<CommandError | undefined> {
  const bar = createProgressBar(session.terminal)
  const progress = (label: string, done: number, total: number) => bar.show(label, done, total)
  try {
    return await sendRows(session, rows, { ...options, progress })
  } catch (error) {
    bar.stop()
    const isKnown = await settleUnanswered(session, rows)
    const { created, present } = countRows(rows)
    if (created > 0 || !isKnown) {
      printImport(session, rows, options.dryRun === true)
      const known = isKnown ? '' : 'at least '
      session.notify(
        `Interrupted: ${known}${created + present} of ${rows.length} keys are registered. Run the same command again: it goes on with the rest.`,
      )
    }
    throw error
  } finally {
    bar.stop()
  }
}

function refusedError(
  rows: readonly ImportRow[],
  { skipRefused }: ImportFlags,
): CommandError | undefined {
  const { created, refused } = countRows(rows)
  if (refused === 0 || (skipRefused === true && refused < rows.length)) return undefined
  const are = rows.length === 1 ? 'key is' : 'keys are'
  const others =
    created === 0
      ? 'nothing was imported'
      : `${created} ${created === 1 ? 'other was' : 'others were'} imported`
  return new CommandError('refused', `${refused} of ${rows.length} ${are} refused: ${others}.`, {
    code: 'import_refused',
    hints: skipRefused
      ? []
      : ['Correct or remove them and run it again, or skip them with --skip-refused.'],
  })
}
