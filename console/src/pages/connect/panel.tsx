import { Alert, Card, NativeSelect, Stack, Tabs, Text, TextInput } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { useState } from 'react'
import type { Project } from '../../../../client/src/index.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { LoadingRows } from '../../components/states.tsx'
import { useAddresses, useKeys } from '../../keys/queries.ts'
import { SetUp } from './set-up.tsx'
import { clouds } from './snippets/clouds.ts'
import { gateways } from './snippets/gateways.ts'
import { languages } from './snippets/languages.ts'
import { node } from './snippets/node.ts'
import type { Addresses } from './snippets/types.ts'

const groups = [
  { group: 'In your service', snippets: [...node, ...languages] },
  { group: 'In front of it', snippets: gateways },
  { group: 'Clouds and clusters', snippets: clouds },
]
const snippets = groups.flatMap((group) => group.snippets)

/** How verifiers of this project are set up, with its real addresses. */
export function Connect({ project }: { project: Project }) {
  const addresses = useAddresses(project.id)
  const algorithms = usePinnedAlgorithms(project.id)
  if (addresses.isPending) return <LoadingRows />
  if (addresses.isError) {
    return <ErrorNotice error={addresses.error} retry={() => void addresses.refetch()} />
  }
  const { issuer, jwks_uri: jwksUri } = addresses.data
  return (
    <Stack>
      <Reach issuer={issuer} />
      <Chooser addresses={{ issuer, jwksUri, algorithms }} />
    </Stack>
  )
}

function Reach({ issuer }: { issuer: string }) {
  if (!/^http:\/\/(127\.|localhost\b|\[::1\])/.test(issuer)) return null
  return (
    <Alert
      color="yellow"
      icon={<IconInfoCircle />}
      title="Nobody but this machine reaches these addresses"
    >
      They are as the server was configured. Start it with{' '}
      <span className="mono">--public-url</span> (or PUBRING_PUBLIC_URL) and the https address that
      verifiers reach. The issuer changes with it, so do this before you sign tokens that last.
    </Alert>
  )
}

/** The algorithms of the active keys: pinned, so that no token chooses its own. */
function usePinnedAlgorithms(projectId: string): string[] {
  const keys = useKeys(projectId)
  const active = (keys.data ?? []).filter((key) => key.active)
  const algorithms = active.map(({ algorithm }) => (algorithm === 'RSA' ? 'RS256' : algorithm))
  return algorithms.length === 0 ? ['RS256'] : [...new Set(algorithms)]
}

function Chooser({ addresses }: { addresses: Addresses }) {
  const [id, setId] = useState('node-live')
  const [audience, setAudience] = useState('')
  return (
    <Card withBorder padding="lg">
      <Text size="sm" c="dimmed" mb="md" maw={720}>
        A verifier needs no API key. Each set-up below has the addresses of this project. Where a
        verifier can be told, the algorithms of the active keys are pinned: add another one there
        before you sign with it.
      </Text>
      <TextInput
        label="Audience of your service (aud)"
        description="Filled in below: refuse tokens that are meant for somebody else."
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
      <Choice id={id} onId={setId} addresses={addresses} audience={audience.trim()} />
    </Card>
  )
}

function Choice(props: {
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
          <SetUp snippet={snippet} addresses={addresses} audience={audience} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
