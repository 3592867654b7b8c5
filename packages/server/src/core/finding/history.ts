import { parseProjectRef } from '../access/projects.ts'
import type { Context } from '../context.ts'
import { notFound } from '../faults.ts'
import { parseId } from '../ids.ts'
import type { EventPlace, RegistryFilter, RegistryPage, RegistryResult } from '../ledger/history.ts'

/** A filter as it is asked for: a project by id or name, a person by id or subject. */
interface RegistryQuery extends Omit<RegistryFilter, 'projectId'> {
  project?: string
}

/** Throws `project_not_found` for a name that no project has. A deleted project is named by its id. */
export async function readRegistryHistory(
  { store }: Context,
  { project, person, ...filter }: RegistryQuery,
  page: Omit<RegistryPage, 'filter'>,
): Promise<RegistryResult> {
  const projectId = project === undefined ? undefined : await projectIdOf(store, project)
  const subject = person === undefined ? undefined : await subjectOf(store, person)
  return store.registryHistory({
    ...page,
    filter: {
      ...filter,
      ...(projectId === undefined ? {} : { projectId }),
      ...(subject === undefined ? {} : { person: subject }),
    },
  })
}

async function projectIdOf(store: Context['store'], project: string): Promise<string> {
  const ref = parseProjectRef(project)
  if ('id' in ref) return ref.id
  const found = await store.identifyProject(ref)
  if (found === undefined) throw notFound('project_not_found')
  return found.id
}

/** The subject of the person with this id; any other text is a subject, as that of an erased person. */
async function subjectOf(store: Context['store'], person: string): Promise<string> {
  const id = parseId(person)
  const [found] = id === undefined ? [] : await store.listPeople([id])
  return found?.subject ?? person
}

export function formatPlace({ time, ledgerId, revision }: EventPlace): string {
  return Buffer.from(JSON.stringify([time, ledgerId, revision])).toString('base64url')
}

/** Undefined if it is not one that `formatPlace` made. */
export function parsePlace(text: string): EventPlace | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (!Array.isArray(parts) || parts.length !== 3) return undefined
    const [time, ledgerId, revision]: unknown[] = parts
    const isPlace =
      typeof time === 'string' &&
      /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time) &&
      typeof ledgerId === 'string' &&
      parseId(ledgerId) !== undefined &&
      typeof revision === 'number' &&
      Number.isSafeInteger(revision)
    return isPlace ? { time, ledgerId, revision } : undefined
  } catch {
    return undefined
  }
}
