import { projectNamePattern } from '../contract/names.ts'
import { type Role, roles } from '../contract/roles.ts'
import { PubringError } from '../errors.ts'
import type { Intake } from '../intake/threads/pool.ts'
import type { Context, ProjectRef } from './context.ts'
import { isActive } from './expiry.ts'
import { parseId } from './ids.ts'
import type { Origin } from './ledger/changes.ts'
import type { Access, ApiKeyRecord, ProjectSnapshot } from './records.ts'
import type { Validity } from './validity.ts'

/** The caller of a request, as its API key identifies it. */
export interface Principal {
  apiKeyId: string
  name: string
  role: Role
  /** The project it is bound to; absent: all projects. */
  projectId?: string
  /** Until the API key changes or expires. */
  validity: Validity
}

/** The context of one request. */
export interface RequestContext extends Context {
  principal: Principal
  /** For the event of the change that the request makes. */
  origin: Origin
  /** Checks keys in the caller's turn, and stops when the caller disconnects. */
  intake: Intake
}

/** Parses a UUID as an id and anything else as a name. */
export function parseProjectRef(text: string): ProjectRef {
  const id = parseId(text)
  return id === undefined ? { name: foldName(text) } : { id }
}

/** Lower-cases A to Z only: names are ASCII. */
export function foldName(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/**
 * The project in the path, if the caller may see it. For a bound API key, reads only its project:
 * "does not exist" and "not visible" give the same error after the same time.
 */
export async function findProject(
  context: Context,
  principal: Principal,
  idOrName: string,
): Promise<ProjectSnapshot> {
  const ref = parseProjectRef(idOrName)
  // PostgreSQL rejects some texts, such as NUL, and no project has such a name.
  const canExist = 'id' in ref || projectNamePattern.test(ref.name)
  const own = principal.projectId === undefined ? undefined : { id: principal.projectId }
  const project = canExist ? await context.store.findProject(own ?? ref) : undefined
  if (project === undefined || !matchesRef(ref, project)) throw projectNotFound()
  return project
}

function matchesRef(ref: ProjectRef, { id, name }: ProjectSnapshot): boolean {
  return 'id' in ref ? ref.id === id : ref.name === name
}

export function projectNotFound(): PubringError {
  return new PubringError(
    'project_not_found',
    'Your API key can see no project with this id or name. GET /v1/projects lists those it can see.',
  )
}

/** Throws `invalid_api_key` unless the API key exists and is active at that time (ISO 8601). */
export function requireActiveApiKey(
  apiKey: ApiKeyRecord | undefined,
  time: string,
): asserts apiKey is ApiKeyRecord {
  if (apiKey === undefined || !isActive(apiKey, time)) throw invalidApiKey()
}

export function invalidApiKey(): PubringError {
  return new PubringError(
    'invalid_api_key',
    'The API key in the X-Api-Key header is unknown, expired or revoked. Check that it was copied completely.',
  )
}

/** Throws `insufficient_role` if the caller's role or binding does not permit the operation. */
export function requireAccess(
  principal: Pick<Principal, 'role' | 'projectId'>,
  access: Access,
): void {
  if (roles.indexOf(principal.role) < roles.indexOf(access.role)) {
    throw new PubringError(
      'insufficient_role',
      `This operation needs the role ${access.role}; your API key has the role ${principal.role}.`,
    )
  }
  if (access.unbound && principal.projectId !== undefined) {
    throw new PubringError(
      'insufficient_role',
      'This operation needs an API key for all projects; yours is bound to one.',
    )
  }
}
