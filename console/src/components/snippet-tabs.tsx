import { Tabs } from '@mantine/core'
import type { ReactNode } from 'react'

export function SnippetTabs<Snippet extends { id: string; title: string }>(props: {
  name: string
  snippets: readonly Snippet[]
  id: string
  onId(id: string): void
  children(snippet: Snippet): ReactNode
}) {
  const { name, snippets, id, onId, children } = props
  return (
    <Tabs value={id} onChange={(value) => onId(value ?? id)} keepMounted={false} variant="pills">
      <Tabs.List mb="md" aria-label={name}>
        {snippets.map((snippet) => (
          <Tabs.Tab key={snippet.id} value={snippet.id}>
            {snippet.title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.id} value={snippet.id}>
          {children(snippet)}
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
