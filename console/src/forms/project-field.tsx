import { useApi } from '../session/session.tsx'
import { SuggestField } from './text-fields.tsx'

export function useProjectNames(enabled = true): string[] {
  const { data } = useApi(
    ['project-names'],
    enabled && ((client, signal) => client.projects.list({ limit: 200, signal })),
  )
  return data?.items.map(({ name }) => name) ?? []
}

export function ProjectField(props: {
  description: string
  placeholder?: string
  value: string
  onValue(text: string): void
}) {
  return <SuggestField {...props} label="Project" data={useProjectNames()} limit={20} />
}
