import { type Project, PubringError } from '@pubring/client'
import type { ReactNode } from 'react'
import { MessagePage, QueryResult } from '../components/states.tsx'
import { useLiveProject, useProject } from '../keys/queries.ts'

type LiveProjectProps = { name: string; rows: number; children(project: Project): ReactNode }

/** A page of a project, by its id or name, that follows the project's events; `rows` as for `QueryResult`. */
export function LiveProject({ name, rows, children }: LiveProjectProps) {
  const query = useProject(name)
  useLiveProject(query.data)
  const { error } = query
  if (error instanceof PubringError && error.status === 404) {
    return (
      <MessagePage title="Project not found">
        It may have been deleted, or you have no access to it.
      </MessagePage>
    )
  }
  return (
    <QueryResult query={query} rows={rows}>
      {children}
    </QueryResult>
  )
}
