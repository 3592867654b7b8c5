import { useProject } from '../keys/queries.ts'

/** The name of a project, or the beginning of its id until that is known. */
export function ProjectName({ id }: { id: string }) {
  const project = useProject(id)
  return <>{project.data?.name ?? `${id.slice(0, 8)}…`}</>
}
