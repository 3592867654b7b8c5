import type { Warning } from '@pubring/client'

/** The page on which a warning is mended. */
export function placeOf({ projectId, kid }: Pick<Warning, 'projectId' | 'kid'>): string {
  if (projectId === undefined) return '/api-keys'
  if (kid === undefined) return `/projects/${projectId}/keys`
  return `/projects/${projectId}/keys/${kid}`
}
