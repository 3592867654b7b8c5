import { PubringError } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { usageError } from '../terminal/failures.ts'
import type { ImportRow } from './rows.ts'
import type { SourceEntry } from './sources/entry.ts'

/** Throws unless the entries fit the flag `--all`: each names a project, or all belong to one. */
export function requireProjects(entries: readonly SourceEntry[], all: boolean): void {
  const names = new Set(entries.map((entry) => entry.project))
  if (all && names.has(undefined)) {
    throw usageError('The source names no projects: leave out --all.')
  }
  if (!all && names.size > 1) {
    throw usageError(
      `The source holds the keys of ${names.size} projects.`,
      'With --all, each key goes to the project of its name, which is created if missing.',
    )
  }
}

/** The projects of the rows that do not exist. */
export async function findMissingProjects(
  { client }: Session,
  rows: readonly ImportRow[],
): Promise<string[]> {
  const missing: string[] = []
  for (const name of new Set(rows.map(({ project }) => project))) {
    try {
      await client.projects.get(name)
    } catch (error) {
      if (!hasCode(error, 'project_not_found')) throw error
      missing.push(name)
    }
  }
  return missing
}

/** Keeps the keys of missing projects out of a dry run, which creates no projects. */
export function skipMissingProjects(
  session: Session,
  missing: readonly string[],
  rows: readonly ImportRow[],
): void {
  for (const name of missing) {
    session.notify(`Project ${name} would be created; its keys are not checked.`)
  }
  for (const row of rows) {
    if (!missing.includes(row.project)) continue
    delete row.item
    row.note = 'Its project would be created; the key was not checked.'
  }
}

/** Creates the projects for an import, and deletes those that stay empty. */
export async function withNewProjects<Result>(
  { client }: Session,
  names: readonly string[],
  rows: readonly ImportRow[],
  runImport: () => Promise<Result>,
): Promise<Result> {
  for (const name of names) await client.projects.create({ name })
  try {
    return await runImport()
  } finally {
    for (const name of names) {
      const isUsed = rows.some(({ project, outcome }) => project === name && outcome === 'created')
      if (!isUsed) {
        await client.projects.delete(name).catch((error: unknown) => {
          if (!hasCode(error, 'project_not_empty')) throw error
        })
      }
    }
  }
}

/** Whether the server answered with the code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof PubringError && error.code === code
}
