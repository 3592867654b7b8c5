import { type JwtKey, type Project, PubringError } from '@pubring/client'
import { identifyKey } from '@pubring/intake'
import type { Algorithm } from '@pubring/intake/algorithms'
import type { NameFlags } from '../admin/projects.ts'
import { commandLine } from '../connection/command-lines.ts'
import { type Session, unless } from '../connection/session.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { type Column, formatTable } from '../terminal/table.ts'
import { tableWidth } from '../terminal/terminal.ts'
import type { Source, SourceEntry } from './entry.ts'
import { readSource } from './read.ts'
import { checkRows, type ImportRow, isSendable, privateKeyError, toRows } from './rows.ts'
import { resetOutcomes, sendRows } from './send.ts'

interface ImportFlags extends NameFlags {
  all?: true
  algorithm?: Algorithm
  skipRefused?: true
  dryRun?: true
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
  const { all = false, dryRun = false, skipRefused = false, algorithm } = flags
  const { terminal } = session
  const { entries, projects } = await readSource(source, terminal)
  requireProjects(entries, all)
  const project = all ? undefined : session.project
  const privateKey = privateKeyError(entries)
  const keepsIds = privateKey === undefined && (await canKeepIds(session, entries))
  const rows = toRows(entries, { project, algorithm, keepsIds })
  if (privateKey !== undefined) {
    printImport(session, rows, dryRun)
    throw privateKey
  }
  if (all) await addProjects(session, rows, await findMissing(session, rows, projects), flags)
  await markPresent(session, rows)
  const bar = createProgressBar(terminal)
  let error: CommandError | undefined
  try {
    const signal = terminal.interruptSignal()
    error = await sendRows(session, rows, { dryRun, skipRefused, signal, progress: bar.show })
  } catch (failure) {
    bar.stop()
    if (!dryRun) await reportInterruption(session, rows)
    throw failure
  } finally {
    bar.stop()
  }
  printImport(session, rows, dryRun)
  error ??= refusedError(rows, flags)
  if (error !== undefined) throw error
}

/** Throws unless the entries fit the flag `--all`: each names a project, or all belong to one. */
function requireProjects(entries: readonly SourceEntry[], all: boolean): void {
  const ids = new Set(entries.map((entry) => entry.project))
  if (all && ids.has(undefined)) {
    throw usageError('The source names no projects: leave out --all.')
  }
  if (!all && ids.size > 1) {
    throw usageError(
      `The source holds the keys of ${ids.size} projects.`,
      'With --all, each key goes to its project, which is created with its id if missing.',
    )
  }
}

/** Only an admin of all projects may restore the ids and times of an export. */
async function canKeepIds({ client }: Session, entries: readonly SourceEntry[]): Promise<boolean> {
  if (!entries.some((entry) => 'key' in entry && entry.key.id !== undefined)) return false
  const { grants } = await client.sessions.self()
  return grants.some(({ role, projectId }) => role === 'admin' && projectId === undefined)
}

/**
 * Moves the rows, which name their projects by id, to the names that these have here, or else in the
 * source. Returns the projects that do not exist here. Throws if a project has the name of one with
 * another id: its keys would get another issuer.
 */
async function findMissing(
  session: Session,
  rows: readonly ImportRow[],
  projects: Source['projects'],
): Promise<Source['projects']> {
  const { client, notify } = session
  const find = (ref: string): Promise<Project | undefined> =>
    unless('project_not_found', client.projects.get(ref))
  const names = new Map<string, string>()
  const missing: Source['projects'] = []
  for (const { id, name } of projects) {
    if (names.has(id)) continue
    const same = await find(id)
    if (same === undefined) {
      if (missing.some((other) => other.name === name)) throw twoProjects(name)
      const other = await find(name)
      if (other !== undefined) throw otherProject(session, name, other.id, id)
      missing.push({ id, name })
    } else if (same.name !== name) notify(`Project ${name} is called ${same.name} here.`)
    names.set(id, same?.name ?? name)
  }
  for (const row of rows) row.project = names.get(row.project) ?? row.project
  return missing
}

function twoProjects(name: string): CommandError {
  return usageError(
    `The source has two projects with the name ${name} and different ids.`,
    'Import them one after the other, and rename the first in between. Nothing was imported.',
  )
}

function otherProject(session: Session, name: string, here: string, id: string): CommandError {
  const rename = commandLine(session, 'project rename', name, `${name}-old`)
  const message = `Project ${name} has another id here (${here}) than in the source (${id}). Nothing was imported.`
  return new CommandError('conflict', message, {
    code: 'project_name_taken',
    hints: [
      `To keep the issuer of the source, import with --release-name after renaming the project that is here: ${rename}`,
      `To import the keys into it instead, export the project by itself and import it with --project ${name}.`,
    ],
  })
}

/**
 * Creates the projects, which stay if the import fails, since an id can be given only once. A dry run
 * creates none, and checks their keys on this machine.
 */
async function addProjects(
  { client, notify }: Session,
  rows: readonly ImportRow[],
  projects: Source['projects'],
  { dryRun, releaseName: release }: ImportFlags,
): Promise<void> {
  for (const { id, name } of projects) {
    await client.projects.create({ id, name, dryRun: dryRun === true }, { release })
    notify(`Project ${name} ${dryRun ? 'would be' : 'is'} created.`)
  }
  if (dryRun) checkRows(rows.filter((row) => projects.some(({ name }) => name === row.project)))
}

/**
 * Asks how many keys are registered, as the response of the last request may be lost, and says that
 * the import can go on.
 */
async function reportInterruption(session: Session, rows: readonly ImportRow[]): Promise<void> {
  const sent = rows.filter(isSendable)
  resetOutcomes(sent)
  try {
    await forEachRegistered(session, sent, (row, { id }) => {
      Object.assign(row, { outcome: 'created', kid: id })
    })
  } catch (error) {
    if (!(error instanceof PubringError)) throw error
    session.notify('Some keys may be registered. Run the same command again: it adds the rest.')
    return
  }
  const { created, present } = countRows(rows)
  if (created === 0) return
  printImport(session, rows, false)
  session.notify(
    `Interrupted: ${created + present} of ${rows.length} keys are registered. Run the same command again: it goes on with the rest.`,
  )
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
  const items = rows.map(({ item: _request, spkiSha256: _digest, errors, ...row }) => {
    return errors.length === 0 ? row : { ...row, errors }
  })
  const document = { dryRun, ...counts, items }
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
    value: ({ errors }) => errors.map(({ code, detail }) => `${code}: ${detail}`).join('; '),
    below: true,
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

/** Calls `found` for each row whose key its project has. */
async function forEachRegistered(
  { client }: Session,
  rows: readonly ImportRow[],
  found: (row: ImportRow, key: JwtKey) => void,
): Promise<void> {
  const sendable = rows.filter(({ item }) => item !== undefined)
  for (const [project, group] of Map.groupBy(sendable, (row) => row.project)) {
    const keys = await client.keys.list(project)
    const bySpki = new Map(keys.map((key) => [identifyKey(key.publicKeyPem)?.spkiSha256, key]))
    for (const row of group) {
      const key = row.spkiSha256 && bySpki.get(row.spkiSha256)
      if (key && row.errors.length === 0) found(row, key)
    }
  }
}
