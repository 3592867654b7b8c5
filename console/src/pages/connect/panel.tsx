import { Card, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconShieldCheck } from '@tabler/icons-react'
import { CopyBlock, CopyField } from '../../components/copy.tsx'
import { SnippetTabs } from '../../components/snippet-tabs.tsx'
import { Notice, QueryResult } from '../../components/states.tsx'
import { useDraft } from '../../forms/action-form.tsx'
import { fieldOf, TextField } from '../../forms/text-fields.tsx'
import { useDiscovery, useKeys } from '../../keys/queries.ts'
import { type Snippet, snippets, type Verifier } from './snippets.ts'

const placeholder = 'AUDIENCE'

export function ConnectPanel({ project }: { project: Project }) {
  const query = useDiscovery(project.id)
  const algorithms = useActiveAlgorithms(project.id)
  return (
    <QueryResult query={query}>
      {({ issuer, jwks_uri: jwksUri }) => (
        <Stack>
          <LoopbackWarning issuer={issuer} />
          <SnippetChooser
            addresses={{ issuer, jwksUri, algorithms }}
            draft={`connect.${project.id}`}
          />
        </Stack>
      )}
    </QueryResult>
  )
}

function LoopbackWarning({ issuer }: { issuer: string }) {
  if (!/^http:\/\/(127\.|localhost\b|\[::1\])/.test(issuer)) return null
  return (
    <Notice tone="warning" title="These addresses are reachable only from this machine">
      They come from the server’s configuration. Set <span className="mono">--public-url</span> (or
      PUBRING_PUBLIC_URL) to the https URL that verifiers use. This changes the issuer, so do it
      before you sign long-lived tokens.
    </Notice>
  )
}

function useActiveAlgorithms(projectId: string): string[] {
  const keys = useKeys(projectId)
  const active = (keys.data ?? []).filter((key) => key.active)
  const algorithms = active.map(({ algorithm }) => (algorithm === 'RSA' ? 'RS256' : algorithm))
  return algorithms.length === 0 ? ['RS256'] : [...new Set(algorithms)]
}

function SnippetChooser(props: { addresses: Omit<Verifier, 'audience'>; draft: string }) {
  const { addresses, draft } = props
  const [{ id, audience }, change] = useDraft(draft, { id: 'node-jose', audience: '' })
  const verifier = { ...addresses, audience: audience.trim() || placeholder }
  return (
    <Card withBorder padding="lg">
      <Text c="dimmed" mb="md" maw={720}>
        Verifiers need no API key. The examples contain the addresses of this project and, where the
        verifier supports it, pin the algorithms of its active keys. Before you sign with another
        algorithm, add it there.
      </Text>
      <TextField
        label="Audience of your service (aud)"
        description="Used in the examples, so that tokens for other services are rejected."
        placeholder={placeholder}
        {...fieldOf({ audience }, change, 'audience')}
        maw={400}
        mb="md"
      />
      <SnippetTabs
        name="Verifiers"
        snippets={snippets}
        id={id}
        onId={(chosen) => change({ id: chosen })}
      >
        {(snippet) => <Setup snippet={snippet} verifier={verifier} />}
      </SnippetTabs>
      <OtherVerifiers verifier={verifier} />
    </Card>
  )
}

function OtherVerifiers({ verifier }: { verifier: Verifier }) {
  const { issuer, jwksUri, algorithms, audience } = verifier
  return (
    <Stack gap="sm" mt="xl">
      <Text size="md" fw={600}>
        Another verifier
      </Text>
      <Text c="dimmed" maw={720}>
        These are the values that any verifier needs. docs/verifiers.md has examples for Go, Java,
        Rust, Envoy, nginx, Apache and others.
      </Text>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <CopyField label="Issuer" value={issuer} />
        <CopyField label="Discovery" value={`${issuer}/.well-known/openid-configuration`} />
        <CopyField label="Key set" value={jwksUri} />
        <CopyField label="Keys as PEM" value={`${issuer}/.well-known/keys.pem`} />
        <CopyField label="Algorithms" value={algorithms.join(', ')} />
        <CopyField label="Audience" value={audience} />
      </SimpleGrid>
    </Stack>
  )
}

const Setup = ({ snippet, verifier }: { snippet: Snippet; verifier: Verifier }) => (
  <Stack gap="md">
    <Text c="dimmed">{snippet.file}</Text>
    <CopyBlock value={snippet.text(verifier)} name={`setup for ${snippet.title}`} />
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <IconShieldCheck size={22} style={{ flex: 'none' }} aria-hidden />
      <div>
        <Text fw={600}>Trusts a deactivated key: {snippet.trust}</Text>
        <Text c="dimmed">{snippet.note}</Text>
      </div>
    </Group>
  </Stack>
)
