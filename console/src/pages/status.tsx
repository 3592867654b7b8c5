import { Anchor, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Status } from '@pubring/client'
import { CurlHint } from '../components/curl.tsx'
import { DataTable, RowName } from '../components/data-table.tsx'
import { Facts, Figure, Section } from '../components/facts.tsx'
import { PageHeader, QueryResult } from '../components/states.tsx'
import { exactTime, RelativeTime } from '../components/text.tsx'
import { LoggedText, useLogged } from '../events/log-panel.tsx'
import { readHealth } from '../session/client.ts'
import { useApi } from '../session/session.tsx'

/** The checks need no session, so that an open page does not keep one alive. */
const refreshMs = 5_000

export function StatusPage() {
  const logged = useLogged(undefined, 0)
  const status = useApi(['status'], (client, signal) => client.status({ signal }))
  return (
    <>
      <PageHeader title="Status">
        With several replicas, this is the state of the one that answers.
      </PageHeader>
      <Stack>
        <Checks />
        <Card withBorder padding="sm">
          <LoggedText project={undefined} logged={logged} newest={0} />
        </Card>
        <QueryResult query={status}>
          {(data) => (
            <>
              <Process {...data} />
              <Followers {...data} />
            </>
          )}
        </QueryResult>
        <Group gap="lg">
          <Anchor href="../docs/" size="sm" underline="always">
            API reference
          </Anchor>
          <Anchor href="../docs/errors" size="sm" underline="always">
            Errors, and what to do
          </Anchor>
        </Group>
        <CurlHint send={(client) => client.status()} />
      </Stack>
    </>
  )
}

function Checks() {
  const options = { refetchInterval: refreshMs }
  const query = useApi(['health'], (_client, signal) => readHealth(signal), options)
  return (
    <QueryResult query={query} rows={2}>
      {({ ready: { state = 'away', ...ready }, write }) => (
        <Card withBorder padding="md">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="lg">
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
          </SimpleGrid>
        </Card>
      )}
    </QueryResult>
  )
}

const noBackup = { SQLite: 'none by pubring backup', PostgreSQL: 'by your tools for PostgreSQL' }

const Process = ({ version, startTime, database, heldRequests }: Status) => (
  <Facts
    name="The process"
    facts={{
      Version: version,
      Started: <RelativeTime time={startTime} />,
      Database: `${database.engine} ${database.primary ?? ''}`,
      'Last backup': database.backupTime ? (
        <RelativeTime time={database.backupTime} />
      ) : (
        noBackup[database.engine]
      ),
      'Rows that contradict the ledgers': database.contradictions,
      'Followers and verifiers that wait for changes': heldRequests,
    }}
  />
)

const Followers = ({ followers, startTime }: Status) => (
  <Section title="Followers that this replica has seen">
    {followers.length > 0 && (
      <DataTable
        rows={followers.map((follower) => ({ ...follower, id: follower.name }))}
        columns={[
          { title: 'Name', cell: ({ name }) => <RowName>{name}</RowName> },
          { title: 'Last request', cell: ({ time }) => <RelativeTime time={time} /> },
          { title: 'Projects', cell: ({ projects }) => projects },
        ]}
      />
    )}
    <Text c="dimmed">
      {followers.length === 0 ? 'None since' : 'Since'} {exactTime(startTime)}, by the names that
      they give. Followers that ask other replicas, or through a cache, are not listed.
    </Text>
  </Section>
)
