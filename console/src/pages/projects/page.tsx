import { Anchor, Button, Card, Group, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { type Project, PubringError } from '../../../../client/src/index.ts'
import { Copy } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState, LoadingRows, PageHead } from '../../components/states.tsx'
import { RelativeTime } from '../../components/times.tsx'
import { useRights, useSession } from '../../session/context.tsx'
import { ProjectForm } from './project-form.tsx'

const pageSize = 100

/** All projects: a page at a time, and any one by its name or id at once. */
export function ProjectsPage() {
  const { mayManage } = useRights()
  const [adding, setAdding] = useState(false)
  const [search, setSearch] = useState('')
  const [wanted] = useDebouncedValue(search.trim().toLowerCase(), 200)
  const { client } = useSession()
  const pages = useInfiniteQuery({
    queryKey: ['projects'],
    queryFn: ({ signal, pageParam }) =>
      client.projects.list({ signal, limit: pageSize, ...(pageParam && { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
  })
  const exact = useExact(wanted)
  const loaded = pages.data?.pages.flatMap(({ items }) => items) ?? []
  const found = loaded.filter(({ name, id }) => name.includes(wanted) || id === wanted)
  const beyond = exact.data && !found.some(({ id }) => id === exact.data?.id) ? [exact.data] : []
  const shown = [...beyond, ...found]

  return (
    <>
      <PageHead
        title="Projects"
        actions={
          mayManage && (
            <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
              New project
            </Button>
          )
        }
      >
        Each project has its own keys, its own issuer and its own key set for verifiers.
      </PageHead>
      <TextInput
        aria-label="Search projects"
        placeholder="Search by name, or paste a whole name or id"
        leftSection={<IconSearch size={16} />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        mb="md"
        maw={420}
      />
      <Card withBorder padding="sm">
        {pages.isPending && <LoadingRows />}
        {pages.isError && <ErrorNotice error={pages.error} retry={() => void pages.refetch()} />}
        {pages.isSuccess &&
          (shown.length > 0 ? (
            <ProjectTable projects={shown} />
          ) : (
            <Nothing wanted={wanted} more={pages.hasNextPage} />
          ))}
        {pages.hasNextPage && (
          <Group justify="center" p="sm">
            <Button
              variant="default"
              loading={pages.isFetchingNextPage}
              onClick={() => void pages.fetchNextPage()}
            >
              Show {pageSize} more
            </Button>
          </Group>
        )}
      </Card>
      {adding && <ProjectForm onClose={() => setAdding(false)} />}
    </>
  )
}

/** The project of exactly this name or id, on whatever page it is. */
function useExact(wanted: string) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['project-named', wanted],
    queryFn: async ({ signal }) => {
      try {
        return await client.projects.get(wanted, { signal })
      } catch (error) {
        if (error instanceof PubringError && error.status === 404) return null
        throw error
      }
    },
    enabled: /^[a-z0-9][a-z0-9-]*$/.test(wanted),
  })
}

function Nothing({ wanted, more }: { wanted: string; more: boolean }) {
  if (wanted === '') {
    return (
      <EmptyState title="No projects yet">
        A project is made for each service whose tokens others verify.
      </EmptyState>
    )
  }
  return (
    <EmptyState title={`No project with “${wanted}” in its name`}>
      {more
        ? 'Only the projects shown so far were searched: type the whole name, or show more.'
        : 'Check the spelling.'}
    </EmptyState>
  )
}

function ProjectTable({ projects }: { projects: Project[] }) {
  return (
    <Table className="cards" verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Name</Table.Th>
          <Table.Th>Id</Table.Th>
          <Table.Th>Changed</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {projects.map(({ id, name, updateTime }) => (
          <Table.Tr key={id}>
            <Table.Td data-label="Name">
              <Anchor component={Link} href={`/projects/${id}`} fw={600}>
                {name}
              </Anchor>
            </Table.Td>
            <Table.Td data-label="Id">
              <Group gap={2} wrap="nowrap">
                <span className="mono">{id}</span>
                <Copy value={id} what={`id of ${name}`} />
              </Group>
            </Table.Td>
            <Table.Td data-label="Changed">
              <Text size="sm" c="dimmed" component="span">
                <RelativeTime time={updateTime} />
              </Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
