import { Alert, List, Table, Text } from '@mantine/core'
import { type KeyUse, summarizeUse } from '@pubring/client'
import { capitalized } from '../components/capitalized.ts'
import { Section } from '../components/facts.tsx'
import { QueryResult } from '../components/states.tsx'
import {
  exactTime,
  RelativeTime,
  UserText,
  useNow,
  withVisibleControls,
} from '../components/text.tsx'
import { useApi } from '../session/session.tsx'

type UsedKey = { id: string; label: string; use?: KeyUse }

function useSummaries(keys: UsedKey[]) {
  const now = useNow(15_000)
  return keys
    .filter(({ use }) => use !== undefined)
    .map((key) => ({ ...key, ...summarizeUse(key.use, Math.max(now, Date.now())) }))
}

/** What verifiers have reported of the keys; nothing in a project where none reports. */
export function KeyUses({ keys }: { keys: UsedKey[] }) {
  const summaries = useSummaries(keys)
  const [first] = summaries
  if (first === undefined) return null
  const isInUse = summaries.some(({ verdict }) => verdict === 'in_use')
  return (
    <Alert color={isInUse ? 'orange' : 'gray'} title={isInUse ? 'Still in use' : 'Use'}>
      {keys.length === 1 ? (
        `${capitalized(first.text)}.`
      ) : (
        <List size="sm">
          {summaries.map(({ id, label, text }) => (
            <List.Item key={id}>
              <UserText>{label}</UserText>: {text}.
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  )
}

/** Who has fetched the key set since its last change, and what is not known of that. */
export function Fetches({ projectId }: { projectId: string }) {
  const query = useApi(
    ['verifiers', projectId],
    (client, signal) => client.keyUses.verifiers(projectId, { signal }),
    { refetchInterval: 5_000 },
  )
  return (
    <Section title="Who may still accept it">
      <QueryResult query={query} rows={2}>
        {({ since, verifiers }) => (
          <>
            <Table
              aria-label="Who has fetched the key set"
              data={{
                body: verifiers.map(({ userAgent, hasCurrentSet, time }) => [
                  withVisibleControls(userAgent || 'without a user agent'),
                  hasCurrentSet ? 'has the set without it' : 'has an older set',
                  <RelativeTime key={userAgent} time={time} />,
                ]),
              }}
            />
            <Text c="dimmed">
              As seen by this replica since {exactTime(since)}, by what clients call themselves. It
              does not know verifiers behind a cache, those that ask other replicas, and all but the
              last fetch of several with one user agent.
            </Text>
          </>
        )}
      </QueryResult>
    </Section>
  )
}
