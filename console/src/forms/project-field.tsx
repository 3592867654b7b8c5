import { useApi } from '../session/api.ts'
import { SuggestField } from './suggest-field.tsx'

/** A field for a project, by name or id; suggests the first page of projects. */
export function ProjectField(props: {
  description: string
  placeholder?: string
  value: string
  onValue(text: string): void
}) {
  const projects = useApi(['project-names'], (client, signal) =>
    client.projects.list({ limit: 200, signal }),
  )
  const names = projects.data?.items.map(({ name }) => name) ?? []
  return <SuggestField {...props} label="Project" data={names} limit={20} />
}
