import { type Role, roles } from '../../contract/roles.ts'
import { PubringError } from '../../errors.ts'

/** What identified the caller of a request. */
export interface Credential {
  type: 'api_key' | 'session'
  id: string
}

/** A role in one project, or in all if there is no `projectId`. */
export interface Grant {
  role: Role
  projectId?: string
}

/** What an operation requires of its caller; declared with its route. */
export interface Access {
  role: Role
  /** Requires the role in all projects. */
  unbound?: true
}

/** The projects in which the grants give the role or a stronger one. */
export function projectsWith(grants: readonly Grant[], role: Role): 'all' | string[] {
  const sufficient = grants.filter((grant) => isAtLeast(grant.role, role))
  const ids = new Set<string>()
  for (const { projectId } of sufficient) {
    if (projectId === undefined) return 'all'
    ids.add(projectId)
  }
  return [...ids]
}

/** The one project that the grants are bound to; undefined if they reach further. */
export function soleProject(grants: readonly Grant[]): string | undefined {
  const projects = projectsWith(grants, roles[0])
  return projects !== 'all' && projects.length === 1 ? projects[0] : undefined
}

/**
 * Whether the grants permit the operation: in the project, or without one in any project.
 */
export function permits(
  grants: readonly Grant[],
  { role, unbound }: Access,
  projectId?: string,
): boolean {
  const projects = projectsWith(grants, role)
  if (projects === 'all') return true
  if (unbound) return false
  return projectId === undefined ? projects.length > 0 : projects.includes(projectId)
}

/** Throws `insufficient_role` unless the grants permit the operation. */
export function requireAccess(grants: readonly Grant[], access: Access, projectId?: string): void {
  if (permits(grants, access, projectId)) return
  const { role } = access
  const own = roles.findLast((each) => permits(grants, { role: each }, projectId))
  throw new PubringError(
    'insufficient_role',
    own !== undefined && isAtLeast(own, role)
      ? `This operation needs the role ${role} for all projects; you have it for some only.`
      : `This operation needs the role ${role}; you have ${own === undefined ? 'none' : `the role ${own}`}.`,
  )
}

function isAtLeast(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least)
}
