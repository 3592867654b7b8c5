import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Event, JwtKey, Project } from '../../../client/src/index.ts'
import { useNow } from '../components/times.tsx'
import { listBackwards } from '../events/paging.ts'
import { useKey } from '../keys/queries.ts'
import { useSession } from '../session/context.tsx'
import { type KeyBar, keyBars, spreadOf } from './spans.ts'

const pageSize = 200
const maxPages = 5

/** The bars of a project's keys, and since when their events were read if not from the beginning. */
export type Bars = { bars: KeyBar[]; completeSince: number | undefined; now: number }

export function useBars(project: Project, keys: JwtKey[]): Bars | undefined {
  const { data: history } = useNewestEvents(project)
  const newest = keys.at(-1)
  const { data: details } = useKey(project.id, newest?.id)
  const now = useNow(15_000)
  return useMemo(() => {
    if (history === undefined || (newest !== undefined && details === undefined)) return undefined
    const { events, completeSince } = history
    const spreadMs = details === undefined ? 0 : spreadOf(details, events, now)
    const partial = completeSince === undefined ? {} : { completeSince }
    const bars = keyBars({ keys, events, ...partial, rotations: [], now, spreadMs })
    return { bars, completeSince, now }
  }, [history, newest, details, keys, now])
}

/** The newest events, oldest first, and the time of the first of them unless they are all. */
function useNewestEvents(project: Project) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['events', project.id, 'timeline'],
    queryFn: async ({ signal }): Promise<{ events: Event[]; completeSince?: number }> => {
      const list = (after: number, limit: number) =>
        client.events.list({ project: project.id, after, limit, signal })
      let { revision } = await client.projects.get(project.id, { signal })
      const events: Event[] = []
      for (let page = 0; page < maxPages && revision > 0; page += 1) {
        events.push(...(await listBackwards(list, revision, pageSize)))
        revision -= pageSize
      }
      events.reverse()
      const first = events[0]
      if (revision <= 0 || first === undefined) return { events }
      return { events, completeSince: Date.parse(first.time) }
    },
  })
}
