import { invalidField, PubringError } from '../../errors.ts'
import { type RankedRole, type Role, rankedRoles } from '../contract.ts'

/** What identified the caller of a request: an API key, a session, or the session of a registration link. */
export interface Credential {
  type: 'api_key' | 'session' | 'registration'
  id: string
}

/** A role in one project, or in all if there is no `projectId`. */
export interface Grant {
  role: Role
  projectId?: string
  /** Permits only the operations that are open to registration links. */
  link?: true
}

/** The access that an operation requires of its caller; declared with its route. */
export interface Access {
  role: RankedRole
  /** Requires the role in all projects. */
  unbound?: true
  /** Whether auditors are permitted as well: the operation only reads, or only concerns the caller. */
  auditor: boolean
  /** Whether the holders of registration links are permitted as well. */
  link?: true
  /** Whether a session needs a recent sign-in. Every operation that may change something says so. */
  recentSignIn?: RecentSignIn
}

/** `sometimes`: the change decides, by what it changes (`requireRecentSignIn`). */
export type RecentSignIn = 'always' | 'sometimes' | 'never'

/** Reads what readers may see. */
export const readerAccess = { role: 'reader', auditor: true } as const satisfies Access

/** What every caller of a project may know: that it exists, and its name. */
export const projectAccess = { ...readerAccess, link: true } as const satisfies Access

/** Reads what admins of all projects may see. */
export const auditAccess = { role: 'admin', unbound: true, auditor: true } as const satisfies Access

/** Changes what only admins of all projects may. */
export const unboundAdmin = {
  role: 'admin',
  unbound: true,
  auditor: false,
} as const satisfies Access

/** The projects in which the grants give the role or a stronger one, or permit an auditor or a link. */
export function projectsWith(
  grants: readonly Grant[],
  { role, auditor, link }: Pick<Access, 'role' | 'auditor' | 'link'>,
): 'all' | string[] {
  const sufficient = grants.filter((grant) =>
    grant.role === 'auditor'
      ? auditor
      : isAtLeast(grant.role, role) && (link || grant.link === undefined),
  )
  const ids = new Set<string>()
  for (const { projectId } of sufficient) {
    if (projectId === undefined) return 'all'
    ids.add(projectId)
  }
  return [...ids]
}

/** The one project that the grants are bound to; undefined if they reach further. */
export function soleProject(grants: readonly Grant[]): string | undefined {
  const projects = projectsWith(grants, projectAccess)
  return projects !== 'all' && projects.length === 1 ? projects[0] : undefined
}

/**
 * Whether the grants permit the operation: in the project, or without one in any project.
 */
export function permits(grants: readonly Grant[], access: Access, projectId?: string): boolean {
  const projects = projectsWith(grants, access)
  if (projects === 'all') return true
  if (access.unbound) return false
  return projectId === undefined ? projects.length > 0 : projects.includes(projectId)
}

/** Throws `insufficient_role` unless the grants permit the operation. */
export function requireAccess(grants: readonly Grant[], access: Access, projectId?: string): void {
  if (permits(grants, access, projectId)) return
  if (grants.some(({ link }) => link)) {
    const detail =
      'A registration link only permits to register keys, to read these, and to check keys and tokens.'
    throw new PubringError('insufficient_role', detail)
  }
  const { role } = access
  const ranked = rankedRoles.findLast((each) =>
    permits(grants, { role: each, auditor: false }, projectId),
  )
  const own = ranked ?? grants.find((grant) => grant.role === 'auditor')?.role
  throw new PubringError(
    'insufficient_role',
    ranked !== undefined && isAtLeast(ranked, role)
      ? `This operation needs the role ${role} for all projects; you have it for some only.`
      : `This operation needs the role ${role}; you have ${own === undefined ? 'none' : `the role ${own}`}.`,
  )
}

function isAtLeast(role: RankedRole, least: RankedRole): boolean {
  return rankedRoles.indexOf(role) >= rankedRoles.indexOf(least)
}

/** Whether the role permits everything that the other one does. */
export function includesRole(role: Role, other: Role): boolean {
  if (role === 'admin' || role === other) return true
  if (other === 'auditor') return false
  return isAtLeast(role === 'auditor' ? 'reader' : role, other)
}

/** Throws `invalid_request` for an auditor of one project. */
export function requireUnboundAuditor(role: Role | undefined, isBound: boolean): void {
  if (role !== 'auditor' || !isBound) return
  const detail = 'An auditor reads all projects, so this role cannot be bound to one.'
  throw invalidField('/role', 'contradictory', detail)
}
