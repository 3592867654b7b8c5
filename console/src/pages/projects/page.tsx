import { Box, Button, Card, Group, SegmentedControl, SimpleGrid, Text } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { Calendar, DaySection, dayOf } from '../../components/calendar.tsx'
import { capitalized } from '../../components/capitalized.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Figure } from '../../components/figure.tsx'
import { EmptyState, PageHeader, QueryResult } from '../../components/states.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { RelativeTime, week } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { TextField } from '../../forms/text-fields.tsx'
import { useTyped } from '../../forms/typed.ts'
import { useQueryParams } from '../../fragment.ts'
import { useRights } from '../../session/rights.ts'
import { placeOf } from '../../warnings/places.ts'
import { useWarnings } from '../../warnings/project-warnings.tsx'
import { ProjectForm } from './project-form.tsx'
import { maxProjects, useExactMatch, useProjectRows } from './query.ts'
import {
  alarms,
  endingsOf,
  isProjectOrder,
  type ProjectRow,
  sortedProjects,
  totalsOf,
} from './rows.ts'
import { ProjectTable } from './table.tsx'

/** All projects with their health; what breaks first comes first. */
export function ProjectsPage() {
  const { mayManage } = useRights()
  const [adding, setAdding] = useOpenDialog('projects', ['create'])
  const { query, health, rows = [], isPartial } = useProjectRows()
  return (
    <>
      <PageHeader
        title="Projects"
        actions={
          mayManage && (
            <Button
              leftSection={<IconPlus size={16} />}
              onClick={() => setAdding({ action: 'create', id: '' })}
            >
              New project
            </Button>
          )
        }
      >
        Each project has its own keys, issuer and JWKS.
      </PageHeader>
      {health.isLoadingError && (
        <ErrorNotice error={health.error} retry={() => void health.refetch()} />
      )}
      {health.data && rows.length > 0 && <TotalFigures rows={rows} />}
      <QueryResult query={query}>
        {() => <SearchableProjects rows={rows} isPartial={isPartial} />}
      </QueryResult>
      {adding !== undefined && <ProjectForm onClose={() => setAdding(undefined)} />}
    </>
  )
}

function SearchableProjects({ rows, isPartial }: { rows: ProjectRow[]; isPartial: boolean }) {
  const [params, change] = useQueryParams()
  const search = params.get('q') ?? ''
  const term = search.trim().toLowerCase()
  const exact = useExactMatch(term)
  const sort = params.get('sort') ?? 'urgency'
  const name = sort.replace(/^-/, '')
  const by = isProjectOrder(name) ? name : 'urgency'
  const descending = sort.startsWith('-')
  const view = params.get('view') === 'calendar' ? 'calendar' : 'list'
  const typed = useTyped({ value: search, onValue: (q) => change({ q }) })

  const matching = rows.filter((row) => row.name.includes(term) || row.id === term)
  const isListed = matching.some(({ id }) => id === exact.data?.id)
  const found = exact.data && !isListed ? [exact.data, ...matching] : matching
  return (
    <>
      <Group gap="xs" mb="md" className="filters">
        <TextField
          aria-label="Search projects"
          placeholder="Search by name, or enter an id"
          leftSection={<IconSearch size={16} />}
          {...typed}
          maw={420}
        />
        <SegmentedControl
          ml="auto"
          aria-label="Show as"
          data={['List', 'Calendar']}
          value={capitalized(view)}
          onChange={(next) => change({ view: next.toLowerCase() })}
        />
      </Group>
      <Card withBorder padding={0} className="list-card">
        {found.length === 0 ? (
          <NoMatch term={term} />
        ) : view === 'calendar' ? (
          <ExpiryCalendar rows={found} isSearched={term !== ''} />
        ) : (
          <ProjectTable
            rows={sortedProjects(found, { by, descending })}
            sorting={{
              by,
              descending,
              onSort: (next, reversed) => change({ sort: reversed ? `-${next}` : next }),
            }}
          />
        )}
      </Card>
      {isPartial && (
        <Text size="sm" c="dimmed" mt="sm" role="status">
          The first {maxProjects.toLocaleString()} projects are listed. Search for others by their
          full name or id.
        </Text>
      )}
    </>
  )
}

function NoMatch({ term }: { term: string }) {
  if (term === '') {
    return (
      <EmptyState title="No projects yet">
        Create a project for each service that signs tokens.
      </EmptyState>
    )
  }
  return (
    <EmptyState title={`No projects match “${term}”`}>
      Check the spelling. To find a key by its kid, a log line or a token, use the search in the
      header.
    </EmptyState>
  )
}

/** The figures that an operator asks for first: how many keys there are, and what breaks soon. */
function TotalFigures({ rows }: { rows: ProjectRow[] }) {
  const { projects, activeKeys, raised } = totalsOf(rows)
  return (
    <Card withBorder padding="md" mb="md">
      <SimpleGrid cols={{ base: 2, md: 5 }} spacing="lg">
        <Figure name="Projects" value={String(projects)}>
          {projects === 1 ? 'project' : 'projects'} that you can see
        </Figure>
        <Figure name="Active keys" value={String(activeKeys)}>
          that verifiers accept
        </Figure>
        {alarms.map(({ text, project }, index) => {
          const count = raised[index] ?? 0
          return (
            <Figure key={text} name={text} value={String(count)} alarming={count > 0}>
              {count === 1 ? 'project has' : 'projects have'} {project}
            </Figure>
          )
        })}
      </SimpleGrid>
    </Card>
  )
}

/** When keys and API keys end, in weeks and as a list; if `isSearched`, only for the projects in `rows`. */
function ExpiryCalendar({ rows, isSearched }: { rows: ProjectRow[]; isSearched: boolean }) {
  const { data: warnings = [] } = useWarnings()
  const isShown = (kept: string | undefined) => !isSearched || rows.some(({ id }) => id === kept)
  const endings = endingsOf(
    rows,
    warnings.filter(({ projectId }) => isShown(projectId)),
  )
  return (
    <Box p="md">
      <Calendar
        name="Expiries"
        times={endings.map(({ time }) => time)}
        from={new Date()}
        to={new Date(Date.now() + 8 * week)}
      />
      <Text size="sm" c="dimmed" mt="sm" role="status">
        Keys and API keys that expire within 30 days without a successor, and the next expiry of
        each of the first {maxProjects.toLocaleString()} projects.
      </Text>
      {[...Map.groupBy(endings, ({ time }) => dayOf(time))].map(([day, ofDay]) => (
        <DaySection key={day} time={ofDay[0]?.time ?? day}>
          <ul className="entries">
            {ofDay.map(({ time, name, ...place }) => (
              <Text key={`${name} ${time}`} component="li" size="sm" py={4}>
                <TextLink href={placeOf(place)}>
                  <UserText>{name}</UserText>
                </TextLink>{' '}
                <RelativeTime time={time} />
              </Text>
            ))}
          </ul>
        </DaySection>
      ))}
    </Box>
  )
}
