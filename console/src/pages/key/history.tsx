import { Anchor, Button, Text } from '@mantine/core'
import type { Project } from '@pubring/client'
import { Link, useLocation } from 'wouter'
import { Section } from '../../components/section.tsx'
import { QueryResult } from '../../components/states.tsx'
import { Days } from '../../events/days.tsx'
import { useKeyEvents } from '../../keys/events.ts'

/** Who did what to the key, newest first. */
export function KeyHistory({ project, kid }: { project: Project; kid: string }) {
  const query = useKeyEvents(project.id, kid)
  const [, navigate] = useLocation()
  const history = `/projects/${project.id}/history`
  return (
    <Section
      title="History"
      actions={
        <Anchor component={Link} href={history} size="sm" underline="always">
          History of the project
        </Anchor>
      }
    >
      <QueryResult query={query} rows={3}>
        {(events) =>
          events.length === 0 ? (
            <Text size="sm" c="dimmed">
              The ledger has no event of it.
            </Text>
          ) : (
            <>
              <Days
                entries={events.map((event) => ({ event, time: event.time }))}
                loggedUpTo={undefined}
                onFilter={(part) => navigate(`${history}?${new URLSearchParams(part)}`)}
              />
              {query.hasNextPage && (
                <Button
                  variant="default"
                  size="xs"
                  loading={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  Load older events
                </Button>
              )}
            </>
          )
        }
      </QueryResult>
    </Section>
  )
}
