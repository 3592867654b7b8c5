import { useApi } from '../session/api.ts'
import { SuggestField } from './text-fields.tsx'

/** The names of the first page of projects, as suggestions. */
export function useProjectNames(enabled = true): string[] {
  const { data } = useApi(
    ['project-names'],
    (client, signal) => client.projects.list({ limit: 200, signal }),
    { enabled },
  )
  return data?.items.map(({ name }) => name) ?? []
}

/** A field for a project, by name or id. */
export function ProjectField(props: {
  description: string
  placeholder?: string
  value: string
  onValue(text: string): void
}) {
  return <SuggestField {...props} label="Project" data={useProjectNames()} limit={20} />
}
