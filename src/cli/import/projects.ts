import type { Client, Project } from '../../../client/src/index.ts'
import { type Session, unless } from '../connection/session.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import type { SourceEntry, SourceProject } from './entry.ts'
import type { ImportRow } from './rows.ts'

/** Throws unless the entries fit the flag `--all`: each names a project, or all belong to one. */
export function requireProjects(entries: readonly SourceEntry[], all: boolean): void {
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

/**
 * Moves the rows, which name their projects by id, to the names that these have here, or else in the
 * source. Returns the projects that do not exist here. Throws if a project has the name of one with
 * another id: its keys would get another issuer.
 */
export async function findMissingProjects(
  { client, notify }: Session,
  rows: readonly ImportRow[],
  projects: readonly SourceProject[],
): Promise<SourceProject[]> {
  const names = new Map<string, string>()
  const missing: SourceProject[] = []
  for (const { id, name } of projects) {
    if (names.has(id)) continue
    const same = await findProject(client, id)
    if (same === undefined) {
      if (missing.some((other) => other.name === name)) throw twoProjects(name)
      const other = await findProject(client, name)
      if (other !== undefined) throw otherProject(name, other.id, id)
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

function otherProject(name: string, here: string, id: string): CommandError {
  const message = `Project ${name} has another id here (${here}) than in the source (${id}). Nothing was imported.`
  return new CommandError('conflict', message, {
    code: 'project_name_taken',
    hints: [
      `To keep the issuer of the source, rename the project that is here: pubring project rename ${name} ${name}-old`,
      `To import the keys into it instead, export the project by itself and import it with --project ${name}.`,
    ],
  })
}

function findProject(client: Client, ref: string): Promise<Project | undefined> {
  return unless('project_not_found', client.projects.get(ref))
}

/** Keeps the keys of missing projects out of a dry run, which creates no projects. */
export function skipMissingProjects(
  session: Session,
  missing: readonly SourceProject[],
  rows: readonly ImportRow[],
): void {
  for (const { name } of missing) {
    session.notify(`Project ${name} would be created; its keys are not checked.`)
  }
  for (const row of rows) {
    if (missing.every(({ name }) => name !== row.project)) continue
    delete row.item
    row.note = 'Its project would be created; the key was not checked.'
  }
}

/**
 * Creates the projects for an import. Says which stay without the keys that the source has for them:
 * an id can be given only once, so they are not deleted, and the next run fills them.
 */
export async function withNewProjects<Result>(
  { client, notify }: Session,
  missing: readonly SourceProject[],
  rows: readonly ImportRow[],
  runImport: () => Promise<Result>,
): Promise<Result> {
  const created: string[] = []
  try {
    for (const { id, name } of missing) {
      await client.projects.create({ id, name })
      created.push(name)
    }
    return await runImport()
  } finally {
    for (const name of created) {
      const own = rows.filter(({ project }) => project === name)
      if (own.length > 0 && own.every(({ outcome }) => outcome !== 'created')) {
        notify(`Project ${name} was created and stays, without keys, for the next run.`)
      }
    }
  }
}
