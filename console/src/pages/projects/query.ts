import { PubringError } from '@pubring/client'
import { useMemo } from 'react'
import { useApi } from '../../session/api.ts'
import type { ProjectRow } from './rows.ts'

/** The largest pages of the service. */
const projectsPerPage = 200
const healthPerPage = 50

/** Projects that the page lists; it finds others by their full name or id. */
export const maxProjects = 1_000

/** The projects with their health; `isPartial` if there are more than the page lists. */
export function useProjectRows() {
  const query = useApi(['projects'], (client, signal) =>
    readAll(projectsPerPage, (page) => client.projects.list({ ...page, signal })),
  )
  const health = useApi(['projects', 'health'], (client, signal) =>
    readAll(healthPerPage, (page) => client.projects.health({ ...page, signal })),
  )
  const rows = useMemo(() => {
    const byId = new Map(health.data?.items.map((each) => [each.projectId, each]))
    return query.data?.items.map((project): ProjectRow => {
      const known = byId.get(project.id)
      return known === undefined ? project : { ...project, health: known }
    })
  }, [query.data, health.data])
  return { query, health, rows, isPartial: query.data?.isPartial === true }
}

type Page<Item> = { items: Item[]; next?: string }

async function readAll<Item>(
  limit: number,
  read: (page: { limit: number; after?: string }) => Promise<Page<Item>>,
): Promise<{ items: Item[]; isPartial: boolean }> {
  const items: Item[] = []
  let page: Page<Item> = { items }
  do {
    page = await read({ limit, ...(page.next && { after: page.next }) })
    items.push(...page.items)
  } while (page.next !== undefined && items.length < maxProjects)
  return { items, isPartial: page.next !== undefined }
}

/** The project with exactly this name or id, which may not be listed; or null. */
export function useExactMatch(term: string) {
  return useApi(
    ['project-named', term],
    (client, signal) =>
      client.projects.get(term, { signal }).catch((error) => {
        if (error instanceof PubringError && error.status === 404) return null
        throw error
      }),
    { enabled: /^[a-z0-9][a-z0-9-]*$/.test(term) },
  )
}
