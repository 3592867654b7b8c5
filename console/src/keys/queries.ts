import {
  type Client,
  type Event,
  type JwtKey,
  type JwtKeyUpdate,
  type JwtKeyWithDetails,
  type KeyStateEntry,
  type Project,
  positionOf,
} from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { useApi } from '../session/session.tsx'
import { useKeyRefresh, useLedgerEvents } from './live.ts'

export const useProject = (project: string | undefined) =>
  useApi(
    ['project', project],
    project && ((client, signal) => client.projects.get(project, { signal })),
  )

export const useKeys = (projectId: string | undefined) =>
  useApi(
    ['keys', projectId],
    projectId && ((client, signal) => client.keys.list(projectId, { signal })),
  )

/** A key with its details, by its id or published kid. */
export const useKey = (projectId: string, kid: string | undefined) =>
  useApi(
    ['keys', projectId, kid],
    kid && ((client, signal) => client.keys.get(projectId, kid, { signal })),
  )

export function useDiscovery(projectId: string) {
  return useApi(
    ['discovery', projectId],
    (client, signal) => client.jwks.discovery(projectId, { signal }),
    { staleTime: Number.POSITIVE_INFINITY },
  )
}

/** The changes of a key, for the forms that send them. */
export function useKeyChanges({ projectId, id }: JwtKey) {
  const refresh = useKeyRefresh(projectId)
  const onSent = () => refresh([id])
  return {
    update: (body: JwtKeyUpdate) => ({
      send: (client: Client) => client.keys.update(projectId, id, body),
      onSent,
    }),
    remove: () => ({ send: (client: Client) => client.keys.delete(projectId, id), onSent }),
  }
}

export function useLiveProject(project: Project | undefined): void {
  const queries = useQueryClient()
  const id = project?.id
  const refresh = useKeyRefresh(id)
  const onEvents = useCallback(
    async (events?: Event[]) => {
      await refresh(
        events
          ?.map(({ subject }) => subject)
          .filter(({ type }) => type === 'key')
          .map((subject) => subject.id),
      )
      const changed = [['rotations', id], ['links', id], ['events', id], ['warnings'], ['project']]
      for (const queryKey of changed) await queries.invalidateQueries({ queryKey })
    },
    [queries, refresh, id],
  )
  const ledger = useMemo(() => {
    if (id === undefined) return undefined
    const findStart = async (client: Client, signal: AbortSignal) => {
      const cached = queries.getQueriesData<Project>({ queryKey: ['project'] })
      const revision = cached.find(([, each]) => each?.id === id)?.[1]?.revision ?? 0
      if (revision === 0) return 0
      const range = { after: revision - 1, limit: 1 }
      const [last] = await client.events.list({ project: id, ...range, signal })
      return last === undefined ? revision : positionOf(last)
    }
    return { project: id, findStart }
  }, [queries, id])
  useLedgerEvents(ledger, onEvents)
}

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

export type KeyRow = JwtKey & Omit<KeyStateEntry, 'kid'>

/** Whether it can be activated: an expired key needs another expiry, and a compromised one stays off. */
export const mayBeActivated = ({ state, endsBecause }: KeyRow): boolean =>
  state === 'off' && endsBecause !== 'compromised'

/** Whether its end is set because another key replaces it, so that it can replace no key itself. */
export const isSuperseded = ({ endsBecause, expireTime }: KeyRow): boolean =>
  endsBecause === 'superseded' && expireTime !== undefined

export function useKeyStates(projectId: string) {
  return useApi(['keys', projectId, { states: true }], (client, signal) =>
    client.keys.states(projectId, { signal }),
  )
}

export function useKeyRows(keys: JwtKey[], states: KeyStateEntry[]): KeyRow[] {
  return useMemo(() => {
    const byKid = new Map(states.map((entry) => [entry.kid, entry]))
    return keys.map((key) => toKeyRow(key, byKid.get(key.id)))
  }, [keys, states])
}

/** A key that is too new for the states that were read is spreading, or off, unless it says its state. */
function toKeyRow(
  key: JwtKey & Partial<JwtKeyWithDetails>,
  entry: KeyStateEntry | undefined,
): KeyRow {
  if (entry === undefined) {
    return { state: key.details?.state ?? (key.active ? 'spreading' : 'off'), ...key }
  }
  const { kid: _kid, ...rest } = entry
  return { ...key, ...rest }
}

export function useKeyRow(key: JwtKey): KeyRow {
  const { data } = useKeyStates(key.projectId)
  return toKeyRow(
    key,
    data?.find(({ kid }) => kid === key.id),
  )
}
