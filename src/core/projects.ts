import { projectNamePattern } from '../contract/names.ts'
import { invalidField } from '../errors.ts'
import { foldName, type Principal } from './access.ts'
import type { Context } from './context.ts'
import { newId, parseId } from './ids.ts'
import { rejectPrivateKeys } from './keys/intake.ts'
import type { Origin } from './ledger/changes.ts'
import type { ProjectRecord } from './records.ts'

/** Normalizes a name; throws `invalid_request`. */
function parseProjectName(text: string): string {
  const name = foldName(text)
  if (!projectNamePattern.test(name)) {
    throw invalidField(
      '/name',
      'name_invalid',
      'A project name must have 1 to 128 characters of a-z, 0-9 and hyphen, and start and end with a letter or digit.',
    )
  }
  if (parseId(name) !== undefined) {
    throw invalidField(
      '/name',
      'name_invalid',
      'A project name must not have the form of a UUID, because it would be read as an id.',
    )
  }
  return name
}

export async function createProject(
  context: Context,
  origin: Origin,
  body: { name: string },
): Promise<ProjectRecord> {
  await rejectPrivateKeys(context, { origin }, { '/name': body.name })
  const name = parseProjectName(body.name)
  return context.store.commit({ type: 'project.create', origin, id: newId(), name })
}

/** A page of the projects that the caller may see, by creation. */
export async function listProjects(
  context: Context,
  principal: Principal,
  page: { after?: string; limit: number },
): Promise<ProjectRecord[]> {
  if (principal.projectId === undefined) return context.store.listProjects(page)
  const own = await context.store.findProject({ id: principal.projectId })
  return own !== undefined && own.id > (page.after ?? '') ? [own] : []
}

export async function renameProject(
  context: Context,
  project: ProjectRecord,
  origin: Origin,
  body: { name?: string },
  precondition: { ifMatch?: string } = {},
): Promise<ProjectRecord> {
  await rejectPrivateKeys(context, { origin, projectId: project.id }, { '/name': body.name })
  const name = body.name === undefined ? project.name : parseProjectName(body.name)
  return context.store.commit({
    type: 'project.rename',
    origin,
    projectId: project.id,
    name,
    ...precondition,
  })
}

/** Throws `project_not_empty` while the project has keys, active or not. */
export async function deleteProject(
  context: Context,
  project: ProjectRecord,
  origin: Origin,
  precondition: { ifMatch?: string } = {},
): Promise<void> {
  await context.store.commit({
    type: 'project.delete',
    origin,
    projectId: project.id,
    ...precondition,
  })
}
