import { PubringError } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import type { ImportRow } from './rows.ts'

/** Names of projects that keys are to go to and that are not there. */
export async function missingProjects(
  { client }: Session,
  rows: readonly ImportRow[],
): Promise<string[]> {
  const missing: string[] = []
  for (const name of new Set(rows.map(({ project }) => project))) {
    const found = await client.projects.get(name).catch((error: unknown) => {
      if (error instanceof PubringError && error.code === 'project_not_found') return undefined
      throw error
    })
    if (found === undefined) missing.push(name)
  }
  return missing
}

/**
 * Makes the projects, lets the import run, and takes away again those that stayed empty. In a dry run
 * none is made: keys that would go there are not tried.
 */
export async function withNewProjects<Result>(
  session: Session,
  names: readonly string[],
  dryRun: boolean,
  rows: ImportRow[],
  run: () => Promise<Result>,
): Promise<Result> {
  const { client } = session
  if (dryRun) {
    for (const name of names)
      session.notify(`Project ${name} would be made; its keys are not tried.`)
    for (const row of rows) {
      if (!names.includes(row.project)) continue
      delete row.item
      row.note = 'Its project would be made; the key was not tried.'
    }
    return run()
  }
  for (const name of names) await client.projects.create({ name })
  try {
    return await run()
  } finally {
    for (const name of names) {
      const isUsed = rows.some(({ project, outcome }) => project === name && outcome === 'created')
      if (!isUsed) await client.projects.delete(name).catch(unlessUsed)
    }
  }
}

function unlessUsed(error: unknown): void {
  if (!(error instanceof PubringError && error.code === 'project_not_empty')) throw error
}
