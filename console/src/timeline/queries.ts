import type { Event, JwtKey, Project } from '@pubring/client'
import { useMemo } from 'react'
import { useNow } from '../components/times.tsx'
import { useKey } from '../keys/queries.ts'
import { useRotations } from '../keys/rotations.ts'
import { useApi } from '../session/api.ts'
import { type KeyBar, keyBars, spreadOf } from './spans.ts'

/** Newest events that the picture is drawn from. */
const maxEvents = 1_000

/** The types of events that tell of the states of keys. */
const types = 'key.created,key.updated,key.deleted,key.recorded,key.weakness_found'

/** The bars of a project's keys, and since when their events were read if not from the beginning. */
export type Bars = { bars: KeyBar[]; completeSince: number | undefined; now: number }

export function useBars(project: Project, keys: JwtKey[]): Bars | undefined {
  const { data: history } = useNewestEvents(project)
  const { data: rotations } = useRotations(project.id)
  const newest = keys.at(-1)
  const { data: details } = useKey(project.id, newest?.id)
  const now = useNow(15_000)
  return useMemo(() => {
    if (history === undefined || rotations === undefined) return undefined
    if (newest !== undefined && details === undefined) return undefined
    const { events, completeSince } = history
    const spreadMs = details === undefined ? 0 : spreadOf(details, events, now)
    const partial = completeSince === undefined ? {} : { completeSince }
    const bars = keyBars({ keys, events, ...partial, rotations, now, spreadMs })
    return { bars, completeSince, now }
  }, [history, rotations, newest, details, keys, now])
}

/** The newest events, oldest first, and the time of the first of them unless they are all. */
function useNewestEvents(project: Project) {
  return useApi(
    ['events', project.id, 'timeline'],
    async (client, signal): Promise<{ events: Event[]; completeSince?: number }> => {
      const events: Event[] = []
      const query = { project: project.id, type: types, order: 'desc', signal } as const
      for await (const event of client.events.all(query)) {
        if (events.length === maxEvents) {
          return { events: events.reverse(), completeSince: Date.parse(event.time) + 1 }
        }
        events.push(event)
      }
      return { events: events.reverse() }
    },
  )
}
