import { parseProjectRef } from '../../kernel/access/projects.ts'
import type { Context } from '../../kernel/context.ts'
import { notFound } from '../../kernel/faults.ts'
import { findSubjects } from '../../kernel/ledger/event-reads.ts'
import type {
  EventPlace,
  RegistryFilter,
  RegistryPage,
  RegistryResult,
} from '../../kernel/ledger/history.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { readAllLedgers } from './history-reads.ts'

/** A filter as a caller sends it. */
interface RegistryQuery extends Omit<RegistryFilter, 'projectId' | 'people'> {
  /** Id or name. */
  project?: string
  /** Id, name, email address or subject. */
  person?: string
}

/** Throws `project_not_found` for a name that no project has. A deleted project is named by its id. */
export async function readRegistryHistory(
  { store }: Context,
  { project, person, ...filter }: RegistryQuery,
  page: Omit<RegistryPage, 'filter'>,
): Promise<RegistryResult> {
  const projectId = project === undefined ? undefined : await projectIdOf(store, project)
  const people = person === undefined ? undefined : await subjectsOf(store, person)
  return readAllLedgers(store.reader, {
    ...page,
    filter: {
      ...filter,
      ...(projectId === undefined ? {} : { projectId }),
      ...(people === undefined ? {} : { people }),
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

/** The text itself may be a subject too: of an erased person, the registry knows nothing else. */
async function subjectsOf(store: Context['store'], person: string): Promise<string[]> {
  const found = await findSubjects(store.reader, parseId(person) ?? person)
  return [...new Set([person, ...found])]
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
