import { Stack, Text } from '@mantine/core'
import type { Event, Project } from '@pubring/client'
import { CopyField } from '../../components/copy.tsx'
import { Section } from '../../components/section.tsx'
import { PageHeader, QueryResult } from '../../components/states.tsx'
import { exactTime } from '../../components/times.tsx'
import { quoted } from '../../components/user-text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { useKeyEvents, useKeyRegistration } from '../../keys/events.ts'
import { Breadcrumb } from './breadcrumb.tsx'
import { KeyHistory } from './history.tsx'

/** A key that the project does not have: what its ledger knows of it. */
export function DeletedKey({ project, kid }: { project: Project; kid: string }) {
  const query = useKeyEvents(project.id, kid)
  const registration = useKeyRegistration(project.id, kid)
  return (
    <QueryResult query={query}>
      {(events) => {
        const label = events[0]?.label
        return (
          <>
            <PageHeader
              title={label === undefined ? 'Key not found' : `${quoted(label)}, deleted`}
              name={`${label === undefined ? 'Key not found' : 'Deleted key'} · ${project.name}`}
              above={<Breadcrumb project={project} />}
            />
            <Stack>
              <Section title="What the ledger knows">
                <Stack gap="sm">
                  <CopyField label="kid" value={kid} />
                  <Known events={events} registration={registration} />
                </Stack>
              </Section>
              {events.length > 0 && <KeyHistory project={project} kid={kid} />}
            </Stack>
          </>
        )
      }}
    </QueryResult>
  )
}

function Known({ events, registration }: { events: Event[]; registration: Event | undefined }) {
  const deleted = events.find(({ type }) => type === 'key.deleted')
  if (events.length === 0) {
    return (
      <Text size="sm">
        No event of this project is about a key with this id. It may belong to another project.
      </Text>
    )
  }
  return (
    <>
      {deleted !== undefined && (
        <Text size="sm">
          Deleted by <ActorName actor={deleted.actor} /> on {exactTime(deleted.time)}. Its kid is
          never reused, and tokens with it are rejected.
        </Text>
      )}
      {registration !== undefined && (
        <Text size="sm">
          Registered by <ActorName actor={registration.actor} /> on {exactTime(registration.time)}.
        </Text>
      )}
    </>
  )
}
