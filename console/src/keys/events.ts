import { useApi } from '../session/api.ts'

/** The first or the last event of a key, also of a deleted one; null if there is none. */
export function useKeyEvent(projectId: string, kid: string, which: 'first' | 'last') {
  const order = which === 'first' ? 'asc' : 'desc'
  return useApi(['events', projectId, which, kid], async (client, signal) => {
    const query = { project: projectId, subject: kid, order, limit: 1, signal } as const
    const [event] = await client.events.list(query)
    // The project itself may be the subject of an id that is no kid.
    return event?.subject.type === 'key' ? event : null
  })
}
