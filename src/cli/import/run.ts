import { type JwtKey, PubringError } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { parseAlgorithm } from '../keys/kinds.ts'
import { CommandError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { type Column, formatTable } from '../terminal/table.ts'
import { tableWidth } from '../terminal/terminal.ts'
import type { SourceEntry } from './entry.ts'
import {
  findMissingProjects,
  requireProjects,
  skipMissingProjects,
  withNewProjects,
} from './projects.ts'
import { readSource } from './read.ts'
import { type ImportRow, privateKeyError, readMaterial, toRows } from './rows.ts'
import { type SendOptions, sendRows } from './send.ts'

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

/** A terminal shows only the rejected rows of a longer list. */
const maxRowsShown = 100

function countRows(rows: readonly ImportRow[]) {
  const count = (outcome: ImportRow['outcome']) =>
    rows.filter((row) => row.outcome === outcome).length
  return {
    created: count('created'),
    present: count('present'),
    refused: count('refused'),
    notSent: count('not_sent'),
  }
}

/** Prints the outcome of every key: as JSON, as tab-separated values, or as a table. */
function printImport(session: Session, rows: readonly ImportRow[], dryRun: boolean): void {
  const counts = countRows(rows)
  const document = { dryRun, ...counts, items: rows.map(itemOf) }
  session.print(document, () => formatTable(session.terminal, columns, visibleRows(session, rows)))
  for (const { place, note, outcome } of rows) {
    if (note !== undefined && outcome === 'created') session.notify(`${place}: ${note}`)
  }
  const { created, present, refused, notSent } = counts
  const would = dryRun ? 'would be ' : ''
  const rest = notSent === 0 ? '' : `, ${notSent} not imported`
  session.notify(
    `${created} ${would}registered, ${present} already registered, ${refused} rejected${rest}.`,
  )
}

function itemOf({ number, project, place, label, outcome, kid, errors, note }: ImportRow) {
  const row = { number, project, place, label, outcome, kid, note }
  return errors.length === 0 ? row : { ...row, errors }
}

function visibleRows({ terminal }: Session, rows: readonly ImportRow[]): readonly ImportRow[] {
  const isWhole = tableWidth(terminal) === undefined || rows.length <= maxRowsShown
  return isWhole ? rows : rows.filter(({ outcome }) => outcome === 'refused')
}

const columns: readonly Column<ImportRow>[] = [
  { heading: '#', value: ({ number }) => String(number) },
  { heading: 'OUTCOME', value: ({ outcome }) => outcome },
  { heading: 'KID', value: ({ kid = '' }) => kid, id: true },
  { heading: 'LABEL', value: ({ label }) => label, cut: true },
  { heading: 'PLACE', value: ({ place }) => place, cut: true },
  {
    heading: 'CAUSE',
    value: ({ errors }) => errors.map(({ code, detail }) => `${code}: ${detail}`).join(' '),
    cut: true,
  },
]

/** Leaves out keys that are registered as the source has them, so that an import can be resumed. */
async function markPresent(session: Session, rows: readonly ImportRow[]): Promise<void> {
  await forEachRegistered(session, rows, (row, { id, algorithm }) => {
    const { item } = row
    // Lists do not show published kids; and of another difference the server says what it is.
    const isSame = item?.algorithm === algorithm && (item.kid ?? id) === id
    if (isSame && item.publishedKid === undefined)
      Object.assign(row, { outcome: 'present', kid: id })
  })
}

/** Asks which keys of a lost response were registered. False if the server cannot be asked. */
async function settleUnanswered(session: Session, rows: readonly ImportRow[]): Promise<boolean> {
  const lost = rows.filter(({ isUnanswered }) => isUnanswered)
  try {
    await forEachRegistered(session, lost, (row, { id }) => {
      Object.assign(row, { outcome: 'created', kid: id })
    })
    return true
  } catch (error) {
    if (!(error instanceof PubringError)) throw error
    return false
  }
}

/** Calls `found` for each row whose key its project has. */
async function forEachRegistered(
  { client }: Session,
  rows: readonly ImportRow[],
  found: (row: ImportRow, key: JwtKey) => void,
): Promise<void> {
  for (const [project, group] of Map.groupBy(rows, (row) => row.project)) {
    const keys = await client.keys.list(project)
    const bySpki = new Map(keys.map((key) => [readMaterial(key.publicKeyPem)?.spkiSha256, key]))
    for (const row of group) {
      const key = row.spkiSha256 && bySpki.get(row.spkiSha256)
      if (key && row.errors.length === 0) found(row, key)
    }
  }
}
