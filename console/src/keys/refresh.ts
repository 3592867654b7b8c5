import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

/** The keys or rotations are read again this long after a time has passed, in milliseconds. */
const afterTimeMs = 300

/** An answer may be this old when the page shows it, in milliseconds. */
const longestTripMs = 30_000

/** No timer runs for longer: it would keep an unattended session alive. */
export const longestWaitMs = 600_000

/**
 * Reads the keys or rotations of a project again, once, when the next of these times has passed: roles
 * and states depend on them. A time may have passed between the answer and its display.
 */
export function useRefreshAt(
  subject: 'keys' | 'rotations',
  projectId: string | undefined,
  times: (string | undefined)[],
): void {
  const queries = useQueryClient()
  const lastRead = useRef('')
  const now = new Date().toISOString()
  const since = new Date(Date.now() - longestTripMs).toISOString()
  const sorted = times
    .filter((time) => time !== undefined)
    .filter((time) => time > since)
    .sort()
  const recent = sorted.findLast((time) => time <= now)
  const next = sorted.find((time) => time > now)
  useEffect(() => {
    const timers = [recent, next].flatMap((time = '') => {
      const wait = Date.parse(time) - Date.now() + afterTimeMs
      if (time <= lastRead.current || wait > longestWaitMs) return []
      const refresh = () => {
        lastRead.current = time
        void queries.invalidateQueries({ queryKey: [subject, projectId] })
      }
      return [setTimeout(refresh, wait)]
    })
    return () => timers.forEach(clearTimeout)
  }, [queries, subject, projectId, recent, next])
}
