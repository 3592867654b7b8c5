import { Group, Text } from '@mantine/core'
import type { Search } from '@pubring/client'
import { IconKey, IconStack2 } from '@tabler/icons-react'
import { StateBadge } from '../components/state-badge.tsx'
import { UserText } from '../components/user-text.tsx'

export type SearchResult = Search['results'][number]

const kinds = {
  key: { title: 'Keys', Icon: IconKey },
  project: { title: 'Projects', Icon: IconStack2 },
}

const kindNames = ['key', 'project'] as const

/** The part of a result in which the text was found. */
const members: Record<SearchResult['matched'], string> = {
  kid: 'kid',
  publishedKid: 'published kid',
  thumbprint: 'thumbprint',
  spkiSha256: 'SHA-256 of the SPKI',
  sshFingerprint: 'OpenSSH fingerprint',
  label: 'label',
  id: 'id',
  name: 'name',
}

/** The results by kind, in the order in which they are shown. */
export function groupsOf(results: SearchResult[]) {
  return kindNames
    .map((type) => ({ ...kinds[type], results: results.filter((result) => result.type === type) }))
    .filter((group) => group.results.length > 0)
}

/** The page of a result. */
export const routeOf = (result: SearchResult): string =>
  result.type === 'key'
    ? `/projects/${result.projectId}/keys/${result.kid}`
    : `/projects/${result.id}`

export const resultKey = (result: SearchResult): string =>
  result.type === 'key' ? result.kid : result.id

/** One result: what it is, where it is, and what of it was found. */
export function ResultRow({ result }: { result: SearchResult }) {
  const { Icon } = kinds[result.type]
  return (
    <Group wrap="nowrap" gap="sm" w="100%">
      <Icon size={18} aria-hidden className="unshrinkable" />
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" fw={600} lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
          <UserText>{result.type === 'key' ? result.label : result.name}</UserText>
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          <Place result={result} />
          {isTold(result) && ` · found by ${members[result.matched]}`}
        </Text>
      </div>
      {result.type === 'key' && <StateBadge state={result.state} />}
    </Group>
  )
}

/** A result that is found by its name needs no explanation. */
const isTold = ({ matched }: SearchResult) => matched !== 'label' && matched !== 'name'

function Place({ result }: { result: SearchResult }) {
  if (result.type === 'project') return <span className="mono">{result.id}</span>
  const { projectName, algorithm, kid } = result
  return (
    <>
      {projectName !== undefined && `${projectName} · `}
      {algorithm} · <span className="mono">{kid}</span>
    </>
  )
}
