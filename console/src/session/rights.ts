import type { Role, Self } from '../../../client/src/index.ts'
import { useSession } from './context.tsx'

/** From weak to strong. */
export const roles: readonly Role[] = ['reader', 'registrar', 'writer', 'admin']

/** What the user may do: in a project, if one is given, and at all. */
export function useRights(projectId?: string) {
  const { grants } = useSession().self
  const ranks = grants
    .filter((grant) => grant.projectId === undefined || grant.projectId === projectId)
    .map(({ role }) => roles.indexOf(role))
  const rank = Math.max(-1, ...ranks)
  return {
    mayRegister: rank >= roles.indexOf('registrar'),
    mayWrite: rank >= roles.indexOf('writer'),
    mayManage: grants.some((grant) => grant.role === 'admin' && grant.projectId === undefined),
    onlyProject: onlyProjectOf(grants),
  }
}

/** The project that all roles are for, if there is one. */
function onlyProjectOf(grants: Self['grants']): string | undefined {
  const [first] = grants
  const isOnly = grants.every(({ projectId }) => projectId === first?.projectId)
  return isOnly ? first?.projectId : undefined
}
