import { useDocumentVisibility } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { type JwtKey, type JwtKeyUpdate, PubringError } from '../../../client/src/index.ts'
import type { ApiRequest } from '../components/curl.tsx'
import { useSession } from '../session/context.tsx'

/** A project by its id or name. */
export function useProject(project: string) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['project', project],
    queryFn: ({ signal }) => client.projects.get(project, { signal }),
  })
}

/** The keys of a project, oldest first. */
export function useKeys(projectId: string | undefined) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['keys', projectId],
    queryFn: ({ signal }) => client.keys.list(projectId ?? '', { signal }),
    enabled: projectId !== undefined,
  })
}

/** A key with its details. */
export function useKey(projectId: string, kid: string | undefined) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['keys', projectId, kid],
    queryFn: ({ signal }) => client.keys.get(projectId, kid ?? '', { signal }),
    enabled: kid !== undefined,
  })
}

/** The discovery document of a project: its issuer and its JWKS URL. */
export function useDiscovery(projectId: string | undefined) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['discovery', projectId],
    queryFn: ({ signal }) => client.jwks.discovery(projectId ?? '', { signal }),
    enabled: projectId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** A change of a key: the request, and a function that sends it and refreshes the keys. */
type KeyChange = { request: ApiRequest; run(): Promise<void> }

/** The changes of one key. */
export function useKeyChanges({ projectId, id }: JwtKey) {
  const { client } = useSession()
  const queries = useQueryClient()
  const path = `/projects/${projectId}/jwt-keys/${id}`
  const refresh = () => queries.invalidateQueries({ queryKey: ['keys', projectId] })
  return {
    update: (body: JwtKeyUpdate): KeyChange => ({
      request: { method: 'PATCH', path, body },
      run: async () => {
        await client.keys.update(projectId, id, body)
        await refresh()
      },
    }),
    remove: (): KeyChange => ({
      request: { method: 'DELETE', path },
      run: async () => {
        await client.keys.delete(projectId, id)
        await refresh()
      },
    }),
  }
}

/**
 * Refreshes the queries of a project when one of its events arrives. Only while the tab is visible:
 * over HTTP/1.1 a browser shares six connections among all tabs.
 */
export function useLiveProject(projectId: string | undefined, revision: number | undefined): void {
  const { client } = useSession()
  const queries = useQueryClient()
  const visible = useDocumentVisibility() === 'visible'
  const loaded = revision !== undefined
  useEffect(() => {
    if (projectId === undefined || !loaded || !visible) return
    const controller = new AbortController()
    const { signal } = controller
    async function follow(project: string, after: number) {
      for await (const _event of client.events.follow({ project, after, signal })) {
        await queries.invalidateQueries({ queryKey: ['keys', project] })
        await queries.invalidateQueries({ queryKey: ['events', project] })
        await queries.invalidateQueries({ queryKey: ['project'] })
      }
    }
    const cached = queries.getQueriesData<{ id: string; revision: number }>({
      queryKey: ['project'],
    })
    const after = cached.find(([, project]) => project?.id === projectId)?.[1]?.revision ?? 0
    follow(projectId, after).catch((error: unknown) => {
      if (!(error instanceof PubringError)) throw error
      if (error.code !== 'aborted') {
        void queries.invalidateQueries({ queryKey: ['keys', projectId] })
      }
      if (error.code === 'history_changed') void queries.invalidateQueries()
    })
    return () => controller.abort()
  }, [client, queries, projectId, loaded, visible])
}
