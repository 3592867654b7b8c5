import {
  type Client,
  type Event,
  type JwtKey,
  type JwtKeyUpdate,
  type Project,
  positionOf,
} from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { ApiRequest } from '../components/curl.tsx'
import { useApi } from '../session/api.ts'
import { useConnection } from '../session/context.tsx'
import { useLedgerEvents } from './follow.ts'
import { useKeyRefresh } from './refresh.ts'

/** A project by its id or name. */
export function useProject(project: string | undefined) {
  return useApi(
    ['project', project],
    (client, signal) => client.projects.get(project ?? '', { signal }),
    { enabled: project !== undefined },
  )
}

/** The keys of a project, oldest first. */
export function useKeys(projectId: string | undefined) {
  return useApi(
    ['keys', projectId],
    (client, signal) => client.keys.list(projectId ?? '', { signal }),
    { enabled: projectId !== undefined },
  )
}

/** The active keys of a project. */
export function useActiveKeys(projectId: string) {
  return useApi(['keys', projectId, { active: true }], (client, signal) =>
    client.keys.list(projectId, { active: true, signal }),
  )
}

/** A key with its details, by its id or published kid. */
export function useKey(projectId: string, kid: string | undefined) {
  return useApi(
    ['keys', projectId, kid],
    (client, signal) => client.keys.get(projectId, kid ?? '', { signal }),
    { enabled: kid !== undefined },
  )
}

/** The discovery document of a project: its issuer and its JWKS URL. */
export function useDiscovery(projectId: string) {
  return useApi(
    ['discovery', projectId],
    (client, signal) => client.jwks.discovery(projectId, { signal }),
    { staleTime: Number.POSITIVE_INFINITY },
  )
}

/** A change of a key: the request, and a function that sends it and refreshes the keys. */
type KeyChange = { request: ApiRequest; run(): Promise<unknown> }

/** The changes of one key. */
export function useKeyChanges({ projectId, id }: JwtKey) {
  const { client } = useConnection()
  const refresh = useKeyRefresh(projectId)
  const change = async (send: (client: Client) => Promise<unknown>) => {
    await send(client)
    await refresh([id])
  }
  const path = `/projects/${projectId}/jwt-keys/${id}`
  return {
    update: (body: JwtKeyUpdate): KeyChange => ({
      request: { method: 'PATCH', path, body },
      run: () => change((client) => client.keys.update(projectId, id, body)),
    }),
    remove: (): KeyChange => ({
      request: { method: 'DELETE', path },
      run: () => change((client) => client.keys.delete(projectId, id)),
    }),
  }
}

/** Refreshes the queries of a project when one of its events arrives. */
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
      await queries.invalidateQueries({ queryKey: ['rotations', id] })
      await queries.invalidateQueries({ queryKey: ['links', id] })
      await queries.invalidateQueries({ queryKey: ['events', id] })
      await queries.invalidateQueries({ queryKey: ['warnings'] })
      await queries.invalidateQueries({ queryKey: ['project'] })
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
