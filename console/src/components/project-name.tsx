import { useProject } from '../keys/queries.ts'
import { endOf } from './text.tsx'

/** The name of a project, or the end of its id until that is known; without one, all of them. */
export function ProjectName({ id }: { id: string | undefined }) {
  const { data } = useProject(id)
  return <>{id === undefined ? 'all projects' : (data?.name ?? endOf(id))}</>
}
