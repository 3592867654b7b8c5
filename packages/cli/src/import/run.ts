import type { Project } from '@pubring/client'
import type { Algorithm } from '@pubring/intake/algorithms'
import type { NameFlags } from '../admin/projects.ts'
import { commandLine } from '../connection/command-lines.ts'
import { type Session, unless } from '../connection/session.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { type Column, formatTable } from '../terminal/table.ts'
import type { Source, SourceEntry } from './entry.ts'
import { readSource } from './read.ts'
import { checkRows, type ImportRow, privateKeyError, toRows } from './rows.ts'
import { sendRows } from './send.ts'

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
  const { entries, projects } = await readSource(source, session.terminal)
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
  await sendRows(session, rows, { dryRun, skipRefused })
  printImport(session, rows, dryRun)
  const refused = refusedError(rows, flags)
  if (refused !== undefined) throw refused
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
  session.print(document, () => formatTable(session.terminal, columns, rows))
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
