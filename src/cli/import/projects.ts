import type { Client, Project } from '../../../client/src/index.ts'
import { present } from '../../runtime/present.ts'
import { type Session, unless } from '../connection/session.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import type { ImportRow } from './rows.ts'
import type { SourceEntry, SourceProject } from './sources/entry.ts'

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

/** What an import has to do before its keys can be sent. */
interface Missing extends SourceProject {
  /** An unused project of the same name and another id, as the first start makes one. */
  replaces?: string
}

/**
 * The projects of a source that do not exist here, by id unless `keepsIds` is false, or else by name.
 * Rows of a project that has another name here are moved to that. Throws if a project in use has the
 * name of one with another id: its keys would get another issuer.
 */
export async function findMissingProjects(
  { client, notify }: Session,
  rows: readonly ImportRow[],
  { projects, keepsIds }: { projects: readonly SourceProject[]; keepsIds: boolean },
): Promise<Missing[]> {
  const missing: Missing[] = []
  const withIdsFirst = projects.toSorted((a, b) => Number(!a.id) - Number(!b.id))
  for (const { id: given, name } of withIdsFirst) {
    const id = keepsIds ? given : undefined
    const twin = missing.find((other) => other.name === name || (id && other.id === id))
    if (twin?.name === name && id !== undefined && twin.id !== id) throw twoProjects(name)
    if (twin !== undefined) {
      moveRows(rows, name, twin.name)
      continue
    }
    const same = id === undefined ? undefined : await findProject(client, id)
    if (same !== undefined && same.name !== name) {
      notify(`Project ${name} is called ${same.name} here.`)
      moveRows(rows, name, same.name)
    }
    if (same !== undefined) continue
    const named = await findProject(client, name)
    if (named === undefined) missing.push({ name, ...present({ id }) })
    else if (id !== undefined && named.revision === 1)
      missing.push({ name, id, replaces: named.id })
    else if (id !== undefined) throw otherProject(name, named.id, id)
  }
  return missing
}

function moveRows(rows: readonly ImportRow[], from: string, to: string): void {
  for (const row of rows) if (row.project === from) row.project = to
}

function twoProjects(name: string): CommandError {
  return usageError(
    `The source has two projects with the name ${name} and different ids.`,
    'Import them one after the other, and rename the first in between. Nothing was imported.',
  )
}

function otherProject(name: string, here: string, id: string): CommandError {
  const message = `Project ${name} has another id here (${here}) than in the source (${id}), and it is in use.`
  return new CommandError('conflict', message, {
    code: 'project_name_taken',
    hints: [
      `To keep the issuer of the source, rename it first: pubring project rename ${name} ${name}-old`,
      'To import its keys into the project that is here, with new kids: --kids new. Nothing was imported.',
    ],
  })
}

function findProject(client: Client, ref: string): Promise<Project | undefined> {
  return unless('project_not_found', client.projects.get(ref))
}

/** Keeps the keys of missing projects out of a dry run, which creates no projects. */
export function skipMissingProjects(
  session: Session,
  missing: readonly Missing[],
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
 * Creates the projects for an import, and deletes those that stay empty, but for those with an id of
 * the source: it can be given only once, and the import may be run again. No other project is
 * deleted: API keys, trust policies and sign-in rules may be bound to one that has no keys.
 */
export async function withNewProjects<Result>(
  session: Session,
  missing: readonly Missing[],
  rows: readonly ImportRow[],
  runImport: () => Promise<Result>,
): Promise<Result> {
  const created: Missing[] = []
  try {
    for (const project of missing) {
      await createProject(session, project)
      created.push(project)
    }
    return await runImport()
  } finally {
    await deleteUnused(session, created, rows)
  }
}

async function createProject({ client, notify }: Session, project: Missing): Promise<void> {
  const { name, id, replaces } = project
  const create = () => client.projects.create({ name, ...present({ id }) })
  if (replaces === undefined) {
    await create()
    return
  }
  const other = await findFreeName(client, `${name.slice(0, 100)}-replaced`)
  await client.projects.rename(replaces, other)
  try {
    await create()
  } catch (error) {
    await client.projects.rename(replaces, name).catch(() => {
      notify(`Project ${replaces} is now called ${other}: pubring project rename ${other} ${name}`)
    })
    throw error
  }
  notify(
    `Project ${name} (${replaces}) was never used and is now called ${other}. If nothing needs it: pubring project delete ${other}`,
  )
}

async function findFreeName(client: Client, wanted: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`
    if ((await findProject(client, name)) === undefined) return name
  }
}

/** Says which empty projects stay. Never throws, so that the error of the import is reported. */
async function deleteUnused(
  { client, notify }: Session,
  created: readonly Missing[],
  rows: readonly ImportRow[],
): Promise<void> {
  const isUsed = ({ name }: Missing) =>
    rows.some(({ project, outcome }) => project === name && outcome === 'created')
  const isMeantEmpty = ({ name }: Missing) => rows.every(({ project }) => project !== name)
  for (const project of created.filter((each) => !isUsed(each))) {
    const { name, id } = project
    if (id === undefined) {
      await unless('project_not_empty', client.projects.delete(name)).catch(() => {
        notify(`Project ${name} was created and may be empty: pubring project delete ${name}`)
      })
    } else if (!isMeantEmpty(project)) {
      notify(`Project ${name} was created and stays, without keys, for the next run.`)
    }
  }
}
