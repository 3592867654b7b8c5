import { Alert, Card, NativeSelect, Stack, Tabs, Text, TextInput } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { useState } from 'react'
import type { Project } from '../../../../client/src/index.ts'
import { QueryResult } from '../../components/states.tsx'
import { useDiscovery, useKeys } from '../../keys/queries.ts'
import { Setup } from './setup.tsx'
import { clouds } from './snippets/clouds.ts'
import { gateways } from './snippets/gateways.ts'
import { languages } from './snippets/languages.ts'
import { node } from './snippets/node.ts'
import type { Addresses } from './snippets/types.ts'

const groups = [
  { group: 'Services', snippets: [...node, ...languages] },
  { group: 'Gateways', snippets: gateways },
  { group: 'Clouds and clusters', snippets: clouds },
]
const snippets = groups.flatMap((group) => group.snippets)

/** How to set up verifiers of a project. */
export function ConnectPanel({ project }: { project: Project }) {
  const query = useDiscovery(project.id)
  const algorithms = useActiveAlgorithms(project.id)
  return (
    <QueryResult query={query}>
      {({ issuer, jwks_uri: jwksUri }) => (
        <Stack>
          <LoopbackWarning issuer={issuer} />
          <SnippetChooser addresses={{ issuer, jwksUri, algorithms }} />
        </Stack>
      )}
    </QueryResult>
  )
}

function LoopbackWarning({ issuer }: { issuer: string }) {
  if (!/^http:\/\/(127\.|localhost\b|\[::1\])/.test(issuer)) return null
  return (
    <Alert
      color="yellow"
      icon={<IconInfoCircle />}
      title="These addresses are reachable only from this machine"
    >
      They come from the server’s configuration. Set <span className="mono">--public-url</span> (or
      PUBRING_PUBLIC_URL) to the https URL that verifiers use. This changes the issuer, so do it
      before you sign long-lived tokens.
    </Alert>
  )
}

/** The algorithms of the active keys, for verifiers to pin. */
function useActiveAlgorithms(projectId: string): string[] {
  const keys = useKeys(projectId)
  const active = (keys.data ?? []).filter((key) => key.active)
  const algorithms = active.map(({ algorithm }) => (algorithm === 'RSA' ? 'RS256' : algorithm))
  return algorithms.length === 0 ? ['RS256'] : [...new Set(algorithms)]
}

function SnippetChooser({ addresses }: { addresses: Addresses }) {
  const [id, setId] = useState('node-live')
  const [audience, setAudience] = useState('')
  return (
    <Card withBorder padding="lg">
      <Text size="sm" c="dimmed" mb="md" maw={720}>
        Verifiers need no API key. The examples contain the addresses of this project and, where the
        verifier supports it, pin the algorithms of its active keys. Before you sign with another
        algorithm, add it there.
      </Text>
      <TextInput
        label="Audience of your service (aud)"
        description="Used in the examples, so that tokens for other services are rejected."
        placeholder="AUDIENCE"
        value={audience}
        onChange={(event) => setAudience(event.currentTarget.value)}
        maw={400}
        mb="md"
      />
      <NativeSelect
        hiddenFrom="md"
        label="Verifier"
        data={groups.map((each) => ({
          group: each.group,
          items: each.snippets.map(({ id: value, title }) => ({ value, label: title })),
        }))}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
        mb="md"
      />
      <SnippetTabs id={id} onId={setId} addresses={addresses} audience={audience.trim()} />
    </Card>
  )
}

function SnippetTabs(props: {
  id: string
  onId(id: string): void
  addresses: Addresses
  audience: string
}) {
  const { id, onId, addresses, audience } = props
  return (
    <Tabs
      value={id}
      onChange={(value) => onId(value ?? 'node-live')}
      orientation="vertical"
      keepMounted={false}
      variant="pills"
      styles={{ tabLabel: { textAlign: 'start' } }}
    >
      <Tabs.List visibleFrom="md" aria-label="Verifiers">
        {snippets.map((snippet) => (
          <Tabs.Tab key={snippet.id} value={snippet.id}>
            {snippet.title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.id} value={snippet.id} pl={{ base: 0, md: 'lg' }} miw={0}>
          <Setup snippet={snippet} addresses={addresses} audience={audience} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
