import { Anchor, Card, Group, SimpleGrid, Stack } from '@mantine/core'
import { CurlHint } from '../components/curl.tsx'
import { Fact, Facts } from '../components/facts.tsx'
import { Figure } from '../components/figure.tsx'
import { PageHeader, QueryResult } from '../components/states.tsx'
import { RelativeTime } from '../components/times.tsx'
import { LoggedText, useLogged } from '../events/log-panel.tsx'
import { useApi } from '../session/api.ts'
import { readHealth } from '../session/client.ts'
import { useWarnings } from '../warnings/project-warnings.tsx'

/** The checks need no session, so that an open page does not keep one alive. */
const refreshMs = 5_000

const links = { '../docs/': 'API reference', '../docs/errors': 'Errors, and what to do' }

/** Whether the service works, and what it runs on. */
export function StatusPage() {
  const logged = useLogged(undefined, 0)
  return (
    <Stack>
      <PageHeader title="Status">
        With several replicas, this is the state of the one that answers.
      </PageHeader>
      <Checks />
      <Card withBorder padding="sm">
        <LoggedText project={undefined} logged={logged} newest={0} />
      </Card>
      <Process />
      <Group gap="lg">
        {Object.entries(links).map(([href, label]) => (
          <Anchor key={href} href={href} size="sm" underline="always">
            {label}
          </Anchor>
        ))}
      </Group>
      <CurlHint path="/status" />
    </Stack>
  )
}

function Checks() {
  const options = { refetchInterval: refreshMs }
  const query = useApi(['health'], (_client, signal) => readHealth(signal), options)
  const { length } = useWarnings().data ?? []
  return (
    <QueryResult query={query} rows={2}>
      {({ ready: { state = 'away', ...ready }, write }) => (
        <Card withBorder padding="md">
          <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="lg">
            <Figure name="Key sets" value={state} alarming={state !== 'fresh'}>
              {ready.logReason ?? ready.reason ?? 'that verifiers get'}
            </Figure>
            <Figure
              name="Changes"
              value={write.reason ? 'rejected' : 'accepted'}
              alarming={write.reason !== undefined}
            >
              {write.reason ?? 'by the database'}
            </Figure>
            <Figure name="Warnings" value={String(length)} alarming={length > 0}>
              that the bell above lists
            </Figure>
          </SimpleGrid>
        </Card>
      )}
    </QueryResult>
  )
}

function Process() {
  const query = useApi(['status'], (client, signal) => client.status({ signal }))
  const noBackup = { SQLite: 'none by pubring backup', PostgreSQL: 'by your tools for PostgreSQL' }
  return (
    <QueryResult query={query}>
      {({ version, startTime, database, heldRequests }) => (
        <Facts name="The process">
          <Fact name="Version">{version}</Fact>
          <Fact name="Started">
            <RelativeTime time={startTime} />
          </Fact>
          <Fact name="Database">
            {database.engine} {database.primary}
          </Fact>
          <Fact name="Last backup">
            {database.backupTime ? (
              <RelativeTime time={database.backupTime} />
            ) : (
              noBackup[database.engine]
            )}
          </Fact>
          <Fact name="Rows that contradict the ledgers">{database.contradictions}</Fact>
          <Fact name="Followers and verifiers that wait for changes">{heldRequests}</Fact>
        </Facts>
      )}
    </QueryResult>
  )
}
