import { Stack, Text } from '@mantine/core'
import type { Event, Project } from '@pubring/client'
import { CopyField } from '../../components/copy.tsx'
import { Section } from '../../components/section.tsx'
import { PageHeader, QueryResult } from '../../components/states.tsx'
import { exactTime } from '../../components/times.tsx'
import { quoted } from '../../components/user-text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { useKeyEvent } from '../../keys/events.ts'
import { Breadcrumb } from './breadcrumb.tsx'
import { KeyHistory } from './history.tsx'

/** A key that the project does not have: what its ledger knows of it. */
export function DeletedKey({ project, kid }: { project: Project; kid: string }) {
  const query = useKeyEvent(project.id, kid, 'last')
  return (
    <QueryResult query={query}>
      {(last) => (
        <>
          <PageHeader
            title={last === null ? 'Key not found' : `${quoted(last.label ?? kid)}, deleted`}
            name={`${last === null ? 'Key not found' : 'Deleted key'} · ${project.name}`}
            above={<Breadcrumb project={project} />}
          />
          <Stack>
            <Section title="What the ledger knows">
              <Stack gap="sm">
                <CopyField label="kid" value={kid} />
                {last === null ? (
                  <Text size="sm">
                    No event of this project is about a key with this id. It may belong to another
                    project.
                  </Text>
                ) : (
                  <Known last={last} projectId={project.id} kid={kid} />
                )}
              </Stack>
            </Section>
            {last !== null && <KeyHistory project={project} kid={kid} />}
          </Stack>
        </>
      )}
    </QueryResult>
  )
}

function Known({ last, projectId, kid }: { last: Event; projectId: string; kid: string }) {
  const { data: first } = useKeyEvent(projectId, kid, 'first')
  return (
    <>
      {last.type === 'key.deleted' && (
        <Text size="sm">
          Deleted by <ActorName actor={last.actor} /> on {exactTime(last.time)}. Its kid is never
          reused, and tokens with it are rejected.
        </Text>
      )}
      {first?.type === 'key.created' && (
        <Text size="sm">
          Registered by <ActorName actor={first.actor} /> on {exactTime(first.time)}.
        </Text>
      )}
    </>
  )
}
