import { useProject } from '../keys/queries.ts'

/** The name of a project, or the beginning of its id until that is known; without one, all of them. */
export function ProjectName({ id }: { id: string | undefined }) {
  const { data } = useProject(id)
  return <>{id === undefined ? 'all projects' : (data?.name ?? `${id.slice(0, 8)}…`)}</>
}
