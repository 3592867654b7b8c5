import { invalidField } from '../../errors.ts'
import { projectsWith, readerAccess } from '../../kernel/access/grants.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { foldName } from '../../kernel/access/projects.ts'
import { findProjectRecord } from '../../kernel/access/stored-projects.ts'
import type { Context } from '../../kernel/context.ts'
import { projectNamePattern } from '../../kernel/contract.ts'
import { notFound } from '../../kernel/faults.ts'
import type { ProjectRecord } from '../../kernel/records.ts'
import { isKid, newId, parseId } from '../../kernel/values/ids.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { type ProjectReference, projectChanges } from './changes.ts'
import type { ProjectCreate, ProjectUpdate } from './contract.ts'
import { readProjectPage, readProjects } from './reads.ts'

/** Whether the name may be one that another project gave up within the last 24 hours. */
interface NameTaking {
  release?: boolean
}

/** Normalizes a name; throws `invalid_request`. */
function parseProjectName(text: string): string {
  const name = foldName(text)
  const isId = parseId(name) !== undefined
  if (projectNamePattern.test(name) && !isId) return name
  const detail = isId
    ? 'A project name must not have the form of a UUID, because it would be read as an id.'
    : 'A project name must have 1 to 128 characters of a-z, 0-9 and hyphen, and start and end with a letter or digit.'
  throw invalidField('/name', 'name_invalid', detail)
}

/** A project with an id of its own, or with `ownId`, which it had elsewhere; stored unless it is a dry run. */
export async function createProject(
  context: RequestContext,
  { name: text, id: ownId, dryRun }: ProjectCreate,
  { release }: NameTaking,
): Promise<ProjectRecord> {
  const id = ownId ?? newId()
  await rejectPrivateKeys(context, { '/name': text, '/id': id })
  if (!isKid(id))
    throw invalidField('/id', 'id_invalid', 'id must be a lower-case UUID (RFC 9562).')
  const name = parseProjectName(text)
  const { store, origin } = context
  const isOwnId = ownId !== undefined
  const creation = { origin, id, name, isOwnId, ...present({ release, dryRun }) }
  return store.commit(projectChanges.createProject, creation)
}

/** Throws `project_not_found` if it was deleted after the access check. */
export async function readProject({ store }: Context, id: string): Promise<ProjectRecord> {
  const project = await findProjectRecord(store.reader, { id })
  if (project === undefined) throw notFound('project_not_found')
  return project
}

/** A page of the projects that the caller may see, by creation. */
export async function listProjects(
  { store }: Pick<Context, 'store'>,
  { grants }: Pick<Principal, 'grants'>,
  page: { after?: string; limit: number },
): Promise<ProjectRecord[]> {
  const visible = projectsWith(grants, readerAccess)
  if (visible === 'all') return readProjectPage(store.reader, page)
  const { after = '', limit } = page
  // The page is cut after the deleted projects are left out: a short page is the last one.
  const later = visible.filter((id) => id > after)
  const projects = await readProjects(store.reader, later)
  return projects.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, limit)
}

export async function renameProject(
  context: RequestContext,
  project: ProjectReference,
  { name: text }: ProjectUpdate,
  { release }: NameTaking,
): Promise<ProjectRecord> {
  await rejectPrivateKeys(context, { '/name': text }, project.projectId)
  const name = text === undefined ? undefined : parseProjectName(text)
  const { store, origin } = context
  const renaming = { origin, ...project, ...present({ name, release }) }
  return store.commit(projectChanges.renameProject, renaming)
}

/** Throws `project_not_empty` while the project has keys, active or not. */
export async function deleteProject(
  { store, origin }: RequestContext,
  project: ProjectReference,
): Promise<void> {
  await store.commit(projectChanges.deleteProject, { origin, ...project })
}
