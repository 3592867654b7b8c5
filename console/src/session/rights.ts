import type { Role, Self } from '@pubring/client'
import { useSession } from './context.tsx'

/** From weak to strong; an auditor only reads, but everything. */
const ranked: readonly Role[] = ['reader', 'registrar', 'writer', 'admin']
export const roles: readonly Role[] = [...ranked, 'auditor']

/** The rights of the user: in a project, if one is given, and at all. */
export function useRights(projectId?: string) {
  const { grants } = useSession().self
  const ranks = grants
    .filter((grant) => grant.projectId === undefined || grant.projectId === projectId)
    .map(({ role }) => ranked.indexOf(role))
  const rank = Math.max(-1, ...ranks)
  return {
    mayRegister: rank >= ranked.indexOf('registrar'),
    mayWrite: rank >= ranked.indexOf('writer'),
    mayManage: grants.some(isAdminOfAll),
    mayAudit: grants.some((grant) => grant.role === 'auditor' || isAdminOfAll(grant)),
    onlyProject: onlyProjectOf(grants),
  }
}

function isAdminOfAll({ role, projectId }: Self['grants'][number]): boolean {
  return role === 'admin' && projectId === undefined
}

/** The strongest of the roles, in any project. */
export function strongestRole({ grants }: Self): string {
  const byStrength: readonly Role[] = ['admin', 'auditor', 'writer', 'registrar', 'reader']
  return byStrength.find((role) => grants.some((grant) => grant.role === role)) ?? 'no role'
}

/** The project that all roles are for, if there is one. */
function onlyProjectOf(grants: Self['grants']): string | undefined {
  const [first] = grants
  const isOnly = grants.every(({ projectId }) => projectId === first?.projectId)
  return isOnly ? first?.projectId : undefined
}
