import type { Project } from '@pubring/client'
import { useLocation } from 'wouter'
import { Section } from '../../components/section.tsx'
import { QueryResult } from '../../components/states.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Days } from '../../events/days.tsx'
import { givenFilters, noFilter } from '../../events/filter.ts'
import { useHistory, useNames } from '../../events/query.ts'
import { useKeys } from '../../keys/queries.ts'
import { useRotations } from '../../keys/rotations.ts'

/** Who did what to the key and its rotations, newest first. */
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
