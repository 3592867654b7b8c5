import { Badge, Group, Text } from '@mantine/core'
import { IconHistory, IconKey, IconPassword, IconStack2 } from '@tabler/icons-react'
import type { Search } from '../../../client/src/index.ts'
import { StateBadge } from '../components/state-badge.tsx'
import { RelativeTime } from '../components/times.tsx'
import { UserText } from '../components/user-text.tsx'
import { typeLabel } from '../events/sentences.ts'

export type SearchResult = Search['results'][number]

const kinds = {
  key: { title: 'Keys', Icon: IconKey },
  project: { title: 'Projects', Icon: IconStack2 },
  apiKey: { title: 'API keys', Icon: IconPassword },
  event: { title: 'Requests', Icon: IconHistory },
}

const kindNames = ['key', 'project', 'apiKey', 'event'] as const

/** What of a result the text was found in. */
const members: Record<SearchResult['matched'], string> = {
  kid: 'kid',
  publishedKid: 'published kid',
  thumbprint: 'thumbprint',
  spkiSha256: 'SHA-256 of the SPKI',
  label: 'label',
  id: 'id',
  name: 'name',
  prefix: 'prefix',
  requestId: 'request id',
}

/** The results by kind, in the order in which they are shown. */
export function groupsOf(results: SearchResult[]) {
  return kindNames
    .map((type) => ({
      ...kinds[type],
      results: results.filter((result) => result.type === type),
    }))
    .filter((group) => group.results.length > 0)
}

/** The page of a result. */
export function routeOf(result: SearchResult): string {
  if (result.type === 'key') return `/projects/${result.projectId}/keys/${result.kid}`
  if (result.type === 'project') return `/projects/${result.id}`
  if (result.type === 'apiKey') return '/api-keys'
  const { projectId, time, subject } = result
  // The filter ends before `until`.
  const until = new Date(Date.parse(time) + 1).toISOString()
  const filter = new URLSearchParams({ subject: subject.id, since: time, until })
  return `${projectId === undefined ? '/ledger' : `/projects/${projectId}/history`}?${filter}`
}

export const resultKey = (result: SearchResult): string =>
  result.type === 'key'
    ? result.kid
    : result.type === 'event'
      ? `${result.projectId} ${result.revision}`
      : result.id

/** One result: what it is, where it is, and what of it was found. */
export function ResultRow({ result }: { result: SearchResult }) {
  const { Icon } = kinds[result.type]
  return (
    <Group wrap="nowrap" gap="sm" w="100%">
      <Icon size={18} aria-hidden className="unshrinkable" />
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" fw={600} lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
          <Title result={result} />
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          <Place result={result} />
          {isTold(result) && ` · found by ${members[result.matched]}`}
        </Text>
      </div>
      <ResultState result={result} />
    </Group>
  )
}

/** What is found by its name needs no explanation. */
const isTold = ({ matched }: SearchResult) => matched !== 'label' && matched !== 'name'

function Title({ result }: { result: SearchResult }) {
  if (result.type === 'key') return <UserText>{result.label}</UserText>
  if (result.type !== 'event') return <UserText>{result.name}</UserText>
  return (
    <>
      {typeLabel(result.eventType)}
      {result.label !== undefined && (
        <>
          : <UserText>{result.label}</UserText>
        </>
      )}
    </>
  )
}

function Place({ result }: { result: SearchResult }) {
  if (result.type === 'event') return <RelativeTime time={result.time} />
  const id = result.type === 'key' ? result.kid : result.id
  return (
    <>
      {result.type === 'key' && (
        <>
          {result.projectName ?? 'deleted project'} ·{' '}
          {result.algorithm !== undefined && `${result.algorithm} · `}
        </>
      )}
      <span className="mono">{result.type === 'apiKey' ? `${result.prefix}…` : id}</span>
    </>
  )
}

function ResultState({ result }: { result: SearchResult }) {
  if (result.type === 'key' && result.deleteTime !== undefined) {
    return (
      <Badge variant="default" tt="none" className="unshrinkable">
        deleted
      </Badge>
    )
  }
  if (result.type === 'key') return <StateBadge state={result.active ? 'active' : 'off'} />
  if (result.type === 'apiKey' && !result.active) return <StateBadge state="revoked" />
  return null
}
