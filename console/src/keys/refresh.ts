import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

/** How long after a time what depends on it is read again, in milliseconds. */
const afterTimeMs = 300

/** No timer runs for longer: it would keep an unattended session alive. */
export const longestWaitMs = 600_000

/**
 * Reads the keys or rotations of a project again when the next of these times has passed: roles and
 * states depend on them.
 */
export function useRefreshAt(
  subject: 'keys' | 'rotations',
  projectId: string | undefined,
  times: (string | undefined)[],
): void {
  const queries = useQueryClient()
  const now = new Date().toISOString()
  const next = times.reduce<string | undefined>(
    (first, time) => (time !== undefined && time > now && !(first && first < time) ? time : first),
    undefined,
  )
  useEffect(() => {
    const wait = Date.parse(next ?? '') - Date.now() + afterTimeMs
    if (!(wait <= longestWaitMs)) return
    const timer = setTimeout(
      () => void queries.invalidateQueries({ queryKey: [subject, projectId] }),
      wait,
    )
    return () => clearTimeout(timer)
  }, [queries, subject, projectId, next])
}
