import { Group, Stack, Text } from '@mantine/core'
import type { Event, Project } from '@pubring/client'
import { IconChevronRight } from '@tabler/icons-react'
import { useLocation } from 'wouter'
import { CopyField } from '../../components/copy.tsx'
import { Section } from '../../components/facts.tsx'
import { PageHeader, QueryResult } from '../../components/states.tsx'
import { exactTime, quoted, TextLink } from '../../components/text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { Days } from '../../events/entry.tsx'
import { givenFilters, noFilter } from '../../events/filter.ts'
import { useHistory, useNames } from '../../events/query.ts'
import { useKeyEvent, useKeys } from '../../keys/queries.ts'
import { useRotations } from '../../keys/rotations.ts'

export function KeyHistory({ project, kid }: { project: Project; kid: string }) {
  const { data: keys } = useKeys(project.id)
  const { data: rotations = [] } = useRotations(project.id)
  const own = rotations.filter(({ from, to }) => from === kid || to === kid)
  const subject = [kid, ...own.map(({ id }) => id)].join()
  const { query, entries } = useHistory(project, { ...noFilter, subject }, keys)
  const nameOf = useNames(project.id, entries)
  const [, navigate] = useLocation()
  const history = `/projects/${project.id}/history`
  return (
    <Section
      title="History"
      actions={
        <TextLink href={history} fz="sm">
          History of the project
        </TextLink>
      }
    >
      <QueryResult query={query} rows={3}>
        {() => (
          <Days
            query={query}
            entries={entries}
            nameOf={nameOf}
            onFilter={(part) =>
              navigate(`${history}?${new URLSearchParams(givenFilters({ ...noFilter, ...part }))}`)
            }
          />
        )}
      </QueryResult>
    </Section>
  )
}

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
                  <Text>
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
        <Text>
          Deleted by <ActorName actor={last.actor} /> on {exactTime(last.time)}. Its kid is never
          reused, and tokens with it are rejected.
        </Text>
      )}
      {first?.type === 'key.created' && (
        <Text>
          Registered by <ActorName actor={first.actor} /> on {exactTime(first.time)}.
        </Text>
      )}
    </>
  )
}

export const Breadcrumb = ({ project }: { project: Project }) => (
  <Group component="nav" gap={4} mb={4} fz="sm" aria-label="Breadcrumb">
    <TextLink href={`/projects/${project.id}`}>{project.name}</TextLink>
    <IconChevronRight size={14} aria-hidden />
    <TextLink href={`/projects/${project.id}/keys`}>Keys</TextLink>
  </Group>
)
