import { Button, Card, Menu } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { CallOptions } from '../../../client/src/index.ts'
import { ActionsMenu } from '../components/actions-menu.tsx'
import { CurlHint } from '../components/curl.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { StateBadge, stateOf } from '../components/state-badge.tsx'
import { EmptyState, MessagePage, PageHeader, QueryResult } from '../components/states.tsx'
import { withVisibleControls } from '../components/user-text.tsx'
import { useOpenDialog } from '../forms/drafts.ts'
import { useRights } from '../session/rights.ts'

/** A record that admins of all projects create, switch on and off, and delete. */
type Managed = { id: string; name: string; active: boolean }

/** What can be done with the records; `Own`: with those of one kind. */
export type ManagedAction<Own extends string> =
  | Own
  | 'create'
  | 'activate'
  | 'deactivate'
  | 'delete'

type ManagedPageProps<Row extends Managed, Own extends string> = {
  /** Its path in the API, which is also the key of its queries. */
  path: string
  title: string
  description: string
  newLabel: string
  empty: { title: string; advice: string }
  list(options: Pick<CallOptions, 'signal'>): Promise<Row[]>
  /** Between the status and the actions. */
  columns: Column<Row>[]
  ownAction: { action: Own; label: string }
  dialog(open: { action: ManagedAction<Own>; row: Row | undefined; onClose(): void }): ReactNode
}

/** A page with all records of a kind, and the dialogs to manage them. */
export function ManagedPage<Row extends Managed, Own extends string>(
  props: ManagedPageProps<Row, Own>,
) {
  const { path, title, description, newLabel, empty, list, columns, dialog } = props
  const { action, label } = props.ownAction
  const { mayManage } = useRights()
  const [open, setOpen] = useOpenDialog<ManagedAction<Own>>(path, [
    action,
    'create',
    'activate',
    'deactivate',
    'delete',
  ])
  const query = useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => list({ signal }),
    enabled: mayManage,
  })
  if (!mayManage) {
    return (
      <MessagePage title={title}>
        Only an admin of all projects can manage {title.toLowerCase()}.
      </MessagePage>
    )
  }
  const menu = ({ id, name, active }: Row) => (
    <ActionsMenu
      name={withVisibleControls(name)}
      frequent={{ label, onClick: () => setOpen({ action, id }) }}
    >
      <Menu.Item onClick={() => setOpen({ action: active ? 'deactivate' : 'activate', id })}>
        {active ? 'Deactivate' : 'Activate'}
      </Menu.Item>
      <Menu.Item className="warning" onClick={() => setOpen({ action: 'delete', id })}>
        Delete
      </Menu.Item>
    </ActionsMenu>
  )
  return (
    <>
      <PageHeader
        title={title}
        actions={
          <Button
            leftSection={<IconPlus size={16} />}
            onClick={() => setOpen({ action: 'create', id: '' })}
          >
            {newLabel}
          </Button>
        }
      >
        {description}
      </PageHeader>
      <QueryResult query={query}>
        {(rows) => (
          <Card withBorder padding="sm" mb="sm">
            {rows.length === 0 ? (
              <EmptyState title={empty.title}>{empty.advice}</EmptyState>
            ) : (
              <DataTable
                rows={rows}
                columns={[
                  {
                    title: 'Status',
                    cell: (row) => <StateBadge state={stateOf(row, 'inactive')} />,
                  },
                  ...columns,
                  { title: 'Actions', cell: menu },
                ]}
              />
            )}
            {open !== undefined &&
              dialog({
                action: open.action,
                row: rows.find(({ id }) => id === open.id),
                onClose: () => setOpen(undefined),
              })}
          </Card>
        )}
      </QueryResult>
      <CurlHint path={`/${path}`} />
    </>
  )
}
