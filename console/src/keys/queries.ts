import { useDocumentVisibility } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { PubringError } from '../../../client/src/index.ts'
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

/** A key with what is known of its material. */
export function useKey(projectId: string, kid: string | undefined) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['keys', projectId, kid],
    queryFn: ({ signal }) => client.keys.get(projectId, kid ?? '', { signal }),
    enabled: kid !== undefined,
  })
}

/** The addresses that verifiers use, as the service publishes them. */
export function useAddresses(projectId: string | undefined) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['discovery', projectId],
    queryFn: ({ signal }) => client.jwks.discovery(projectId ?? '', { signal }),
    enabled: projectId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/**
 * Reads anew what an event of the project has changed, whoever changed it, as long as it is shown. A
 * hidden tab lets go of its stream: browsers give all tabs together six connections (HTTP/1.1).
 */
export function useLiveProject(projectId: string | undefined, revision: number | undefined): void {
  const { client } = useSession()
  const queries = useQueryClient()
  const visible = useDocumentVisibility() === 'visible'
  const known = revision !== undefined
  useEffect(() => {
    if (projectId === undefined || !known || !visible) return
    const controller = new AbortController()
    const { signal } = controller
    async function follow(id: string, after: number) {
      for await (const _event of client.events.follow({ project: id, after, signal })) {
        await queries.invalidateQueries({ queryKey: ['keys', id] })
        await queries.invalidateQueries({ queryKey: ['events', id] })
        await queries.invalidateQueries({ queryKey: ['project'] })
      }
    }
    const after = queries.getQueriesData<{ id: string; revision: number }>({
      queryKey: ['project'],
    })
    const last = after.find(([, project]) => project?.id === projectId)?.[1]?.revision ?? 0
    follow(projectId, last).catch((error: unknown) => {
      const ended = error instanceof PubringError
      if (!ended) throw error
      if (error.code !== 'aborted')
        void queries.invalidateQueries({ queryKey: ['keys', projectId] })
    })
    return () => controller.abort()
  }, [client, queries, projectId, known, visible])
}
