import { Anchor, Button, Card, Group } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type Project, PubringError } from '../../../../client/src/index.ts'
import { CopyButton } from '../../components/copy.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState, LoadingRows, PageHeader } from '../../components/states.tsx'
import { RelativeTime } from '../../components/times.tsx'
import { useDraft, useOpenDialog } from '../../forms/drafts.ts'
import { TextField } from '../../forms/text-fields.tsx'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'
import { ProjectForm } from './project-form.tsx'

const pageSize = 100

/** All projects, page by page; a search finds any of them by its full name or id. */
export function ProjectsPage() {
  const { mayManage } = useRights()
  const [adding, setAdding] = useOpenDialog('projects', ['create'])
  const [{ search }, change] = useDraft('projects', { search: '' })
  const [term] = useDebouncedValue(search.trim().toLowerCase(), 200)
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
      <TextField
        aria-label="Search projects"
        placeholder="Search by name, or enter an id"
        leftSection={<IconSearch size={16} />}
        value={search}
        onValue={(text) => change({ search: text })}
        mb="md"
        maw={420}
      />
      <MatchingProjects term={term} />
      {adding !== undefined && <ProjectForm onClose={() => setAdding(undefined)} />}
    </>
  )
}

function MatchingProjects({ term }: { term: string }) {
  const pages = useProjectPages()
  const exact = useExactMatch(term)
  const loaded = pages.data?.pages.flatMap(({ items }) => items) ?? []
  const matching = loaded.filter(({ name, id }) => name.includes(term) || id === term)
  const isLoaded = matching.some(({ id }) => id === exact.data?.id)
  const shown = exact.data && !isLoaded ? [exact.data, ...matching] : matching
  return (
    <Card withBorder padding="sm">
      {pages.isPending && <LoadingRows />}
      {pages.isLoadingError && (
        <ErrorNotice error={pages.error} retry={() => void pages.refetch()} />
      )}
      {pages.data && shown.length > 0 && <ProjectTable projects={shown} />}
      {pages.data && shown.length === 0 && <NoMatch term={term} more={pages.hasNextPage} />}
      {pages.hasNextPage && (
        <Group justify="center" p="sm">
          <Button
            variant="default"
            loading={pages.isFetchingNextPage}
            onClick={() => void pages.fetchNextPage()}
          >
            Load {pageSize} more
          </Button>
        </Group>
      )}
    </Card>
  )
}

function useProjectPages() {
  const { client } = useSession()
  return useInfiniteQuery({
    queryKey: ['projects'],
    queryFn: ({ signal, pageParam }) =>
      client.projects.list({ signal, limit: pageSize, ...(pageParam && { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
  })
}

/** The project with exactly this name or id, which may be on a page that is not loaded; or null. */
function useExactMatch(term: string) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['project-named', term],
    queryFn: async ({ signal }) => {
      try {
        return await client.projects.get(term, { signal })
      } catch (error) {
        if (error instanceof PubringError && error.status === 404) return null
        throw error
      }
    },
    enabled: /^[a-z0-9][a-z0-9-]*$/.test(term),
  })
}

function NoMatch({ term, more }: { term: string; more: boolean }) {
  if (term === '') {
    return (
      <EmptyState title="No projects yet">
        Create a project for each service that signs tokens.
      </EmptyState>
    )
  }
  return (
    <EmptyState title={`No projects match “${term}”`}>
      {more
        ? 'Only loaded projects were searched. Enter the full name, or load more.'
        : 'Check the spelling.'}
    </EmptyState>
  )
}

function ProjectTable({ projects }: { projects: Project[] }) {
  return (
    <DataTable
      rows={projects}
      columns={[
        {
          title: 'Name',
          cell: ({ id, name }) => (
            <Anchor component={Link} href={`/projects/${id}`} fw={600}>
              {name}
            </Anchor>
          ),
        },
        {
          title: 'Id',
          cell: ({ id, name }) => (
            <Group gap={2} wrap="nowrap">
              <span className="mono">{id}</span>
              <CopyButton value={id} name={`id of ${name}`} />
            </Group>
          ),
        },
        { title: 'Updated', cell: ({ updateTime }) => <RelativeTime time={updateTime} /> },
      ]}
    />
  )
}
