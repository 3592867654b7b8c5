import { useApi } from '../session/session.tsx'
import { type Guarded, SuggestField } from './text-fields.tsx'

export function useProjectNames(enabled = true): string[] {
  const { data } = useApi(
    ['project-names'],
    enabled && ((client, signal) => client.projects.list({ limit: 200, signal })),
  )
  return data?.items.map(({ name }) => name) ?? []
}

export const ProjectField = (props: Guarded & { description: string; placeholder?: string }) => (
  <SuggestField {...props} label="Project" data={useProjectNames()} limit={20} />
)
