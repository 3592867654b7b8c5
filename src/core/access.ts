import { projectNamePattern } from '../contract/names.ts'
import { type Role, roles } from '../contract/roles.ts'
import { PubringError } from '../errors.ts'
import type { Context, ProjectRef } from './context.ts'
import { parseId } from './ids.ts'
import type { ApiKeyRecord, ProjectSnapshot } from './records.ts'
import type { Validity } from './validity.ts'

/** Who a request comes from, as its API key says. */
export interface Principal {
  apiKeyId: string
  name: string
  role: Role
  /** The one project it is bound to; absent: all. */
  projectId?: string
  /** Until its API key is changed or expires. */
  validity: Validity
}

/** What an operation asks of its caller; stated where its route is registered. */
export interface Access {
  role: Role
  /** The operation is about more than one project: an API key bound to one is refused. */
  unbound?: true
}

/** Whether the API key opens anything now: not revoked, not expired. */
export function isApiKeyActive(apiKey: ApiKeyRecord, time: string): boolean {
  return apiKey.enabled && (apiKey.expireTime === undefined || apiKey.expireTime > time)
}

/** A UUID is an id, anything else a name; names are compared in lower case (ASCII alone). */
export function parseProjectRef(text: string): ProjectRef {
  const id = parseId(text)
  return id === undefined ? { name: foldName(text) } : { id }
}

/** Folds A-Z to a-z and nothing else: names are ASCII, and so is the folding. */
export function foldName(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/**
 * The project that the path names, if the caller may see it. For an API key that is bound to a
 * project no other one is ever looked for: "not there" and "not yours" are one case, and so the same
 * error in the same time.
 */
export async function findProject(
  context: Context,
  principal: Principal,
  idOrName: string,
): Promise<ProjectSnapshot> {
  const ref = parseProjectRef(idOrName)
  // No project can have another name, and not every database takes every text (PostgreSQL: no NUL).
  const possible = 'id' in ref || projectNamePattern.test(ref.name)
  const own = principal.projectId === undefined ? undefined : { id: principal.projectId }
  const project = possible ? await context.store.findProject(own ?? ref) : undefined
  if (project === undefined || !isNamedBy(ref, project)) throw projectNotFound()
  return project
}

function isNamedBy(ref: ProjectRef, { id, name }: ProjectSnapshot): boolean {
  return 'id' in ref ? ref.id === id : ref.name === name
}

export function projectNotFound(): PubringError {
  return new PubringError(
    'project_not_found',
    'There is no project with this id or name that your API key may see. GET /v1/projects lists those it may.',
  )
}

/** Throws `insufficient_role` where the caller's role or binding is too narrow. */
export function requireAccess(principal: Principal, access: Access): void {
  if (roles.indexOf(principal.role) < roles.indexOf(access.role)) {
    throw new PubringError(
      'insufficient_role',
      `This needs the role ${access.role}; your API key has the role ${principal.role}.`,
    )
  }
  if (access.unbound && principal.projectId !== undefined) {
    throw new PubringError(
      'insufficient_role',
      'This needs an API key for all projects; yours is bound to one.',
    )
  }
}
