import type { Warning } from '../../../client/src/index.ts'

/** The page on which a warning is mended. */
export function placeOf({ code, projectId, kid }: Warning): string {
  if (projectId === undefined) return '/api-keys'
  if (kid === undefined) return `/projects/${projectId}/keys`
  return code === 'rotation_waiting'
    ? `/projects/${projectId}/rotate/${kid}`
    : `/projects/${projectId}/keys/${kid}`
}
