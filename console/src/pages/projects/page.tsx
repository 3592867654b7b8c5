import { Box, Card, Group, SegmentedControl, SimpleGrid, Text } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useMemo } from 'react'
import { IconButton } from '../../components/buttons.tsx'
import { Calendar, DaySection, dayOf } from '../../components/calendar.tsx'
import { capitalized } from '../../components/capitalized.ts'
import { Figure } from '../../components/facts.tsx'
import { knownOrder } from '../../components/sorting.ts'
import { EmptyState, ErrorNotice, PageHeader, QueryResult } from '../../components/states.tsx'
import { RelativeTime, TextLink, UserText, week } from '../../components/text.tsx'
import { useOpenDialog } from '../../forms/action-form.tsx'
import { fieldOf, TextField } from '../../forms/text-fields.tsx'
import { usePageQuery, useTyped } from '../../fragment.ts'
import { useApi, useRights } from '../../session/session.tsx'
import { placeOf } from '../../warnings/places.ts'
import { useWarnings } from '../../warnings/project-warnings.tsx'
import { ProjectForm } from './project-form.tsx'
import {
  alarms,
  endingsOf,
  type ProjectRow,
  projectOrders,
  sortedProjects,
  totalsOf,
} from './rows.ts'
import { ProjectTable } from './table.tsx'

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
            <IconButton
              Icon={IconPlus}
              label="New project"
              onClick={() => setAdding({ action: 'create', id: '' })}
            />
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

const members = ['q', 'sort', 'view'] as const

function SearchableProjects({ rows, isPartial }: { rows: ProjectRow[]; isPartial: boolean }) {
  const [query, change] = usePageQuery(members)
  const term = query.q.trim().toLowerCase()
  const sort = knownOrder(projectOrders, query.sort, 'urgency')
  const view = query.view === 'calendar' ? 'calendar' : 'list'
  const typed = useTyped(fieldOf(query, change, 'q'))
  const found = rows.filter((row) => row.name.includes(term) || row.id === term)
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
            rows={sortedProjects(found, sort)}
            sorting={{ sort, onSort: (next) => change({ sort: next }) }}
          />
        )}
      </Card>
      {isPartial && (
        <Text c="dimmed" mt="sm" role="status">
          The first {maxProjects.toLocaleString()} projects are listed. The search in the header
          finds others.
        </Text>
      )}
    </>
  )
}

const NoMatch = ({ term }: { term: string }) => (
  <EmptyState title={term === '' ? 'No projects yet' : `No projects match “${term}”`}>
    {term === ''
      ? 'Create a project for each service that signs tokens.'
      : 'Check the spelling. To find a key by its kid, a log line or a token, use the search in the header.'}
  </EmptyState>
)

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
      <Text c="dimmed" mb="sm" role="status">
        Keys and API keys that expire within 30 days without a successor, and the next expiry of
        each of the first {maxProjects.toLocaleString()} projects.
      </Text>
      <Calendar
        name="Expiries"
        times={endings.map(({ time }) => time)}
        from={new Date()}
        to={new Date(Date.now() + 8 * week)}
      />
      {[...Map.groupBy(endings, ({ time }) => dayOf(time))].map(([day, ofDay]) => (
        <DaySection key={day} time={ofDay[0]?.time ?? day}>
          <ul className="entries">
            {ofDay.map(({ time, name, ...place }) => (
              <Text key={`${name} ${time}`} component="li" py={4}>
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

const projectsPerPage = 200
const healthPerPage = 50

/** Projects that the page lists; the search in the header finds others. */
const maxProjects = 1_000

/** The projects with their health; `isPartial` if there are more than the page lists. */
function useProjectRows() {
  const query = useApi(['projects'], (client, signal) =>
    readAll(projectsPerPage, (page) => client.projects.list({ ...page, signal })),
  )
  const health = useApi(['projects', 'health'], (client, signal) =>
    readAll(healthPerPage, (page) => client.projects.health({ ...page, signal })),
  )
  const rows = useMemo(() => {
    const byId = new Map(health.data?.items.map((each) => [each.projectId, each]))
    return query.data?.items.map((project): ProjectRow => {
      const known = byId.get(project.id)
      return known === undefined ? project : { ...project, health: known }
    })
  }, [query.data, health.data])
  return { query, health, rows, isPartial: query.data?.isPartial === true }
}

type Page<Item> = { items: Item[]; next?: string }

async function readAll<Item>(
  limit: number,
  read: (page: { limit: number; after?: string }) => Promise<Page<Item>>,
): Promise<{ items: Item[]; isPartial: boolean }> {
  const items: Item[] = []
  let page: Page<Item> = { items }
  do {
    page = await read({ limit, ...(page.next && { after: page.next }) })
    items.push(...page.items)
  } while (page.next !== undefined && items.length < maxProjects)
  return { items, isPartial: page.next !== undefined }
}
