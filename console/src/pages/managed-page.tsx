import { Button, Card, Menu } from '@mantine/core'
import type { CallOptions, Client, Confirmation } from '@pubring/client'
import { IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { ActionsMenu } from '../components/actions-menu.tsx'
import { CurlHint } from '../components/curl.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { rowNames } from '../components/ids.ts'
import { type State, StateBadge, stateOf } from '../components/state-badge.tsx'
import { EmptyState, PageHeader, QueryResult } from '../components/states.tsx'
import { quoted, withVisibleControls } from '../components/user-text.tsx'
import { ActionDialog } from '../forms/action-form.tsx'
import { useOpenDialog } from '../forms/drafts.ts'
import { useApi, useChange } from '../session/api.ts'
import { useRights } from '../session/rights.ts'

type ManagedPageProps<Row extends Managed, Own extends string> = {
  kind: ManagedKind<Row>
  title: string
  description: string
  newLabel: string
  /** In place of no records; absent if there is always one. */
  empty?: { title: string; advice: string }
  /** Between the status and the actions. */
  columns: Column<Row>[]
  /** The actions that only records of this kind have; the first is the most frequent. */
  ownActions: readonly [OwnAction<Own>, ...OwnAction<Own>[]]
  /** Whether a record can only have the most frequent action. */
  isFixed?(row: Row): boolean
  /** The dialog of an own action or, without `row`, of a creation. */
  dialog(open: {
    action: Own | 'create'
    row: Row | undefined
    rows: Row[]
    onClose(): void
  }): ReactNode
}

/** One that only `reads` is open to auditors. */
type OwnAction<Own extends string> = { action: Own; label: string; reads?: true }

/** A page with all records of a kind, and the dialogs to manage them. */
export function ManagedPage<Row extends Managed, Own extends string>(
  props: ManagedPageProps<Row, Own>,
) {
  const { kind, title, description, newLabel } = props
  const { mayManage } = useRights()
  const query = useApi([kind.path], (client, signal) => kind.operations(client).list({ signal }))
  const own = ['create', ...props.ownActions.map(({ action }) => action)] as const
  const actions = [...own, ...confirmed] as const
  const [open, setOpen] = useOpenDialog<(typeof actions)[number]>(kind.path, actions)
  const close = () => setOpen(undefined)
  const dialogOf = (rows: Row[]) => {
    const row = rows.find(({ id }) => id === open?.id)
    const change = confirmed.find((action) => action === open?.action)
    if (row !== undefined && change !== undefined) {
      return <ConfirmChange kind={kind} action={change} row={row} onClose={close} />
    }
    const action = own.find((each) => each === open?.action)
    const isShown = action !== undefined && (action === 'create' || row !== undefined)
    return isShown && props.dialog({ action, row, rows, onClose: close })
  }
  const newButton = (
    <Button
      leftSection={<IconPlus size={16} />}
      onClick={() => setOpen({ action: 'create', id: '' })}
    >
      {newLabel}
    </Button>
  )
  return (
    <>
      <PageHeader title={title} actions={mayManage && newButton}>
        {description}
      </PageHeader>
      <QueryResult query={query}>
        {(rows) => (
          <Card withBorder padding="sm" mb="sm">
            <Records {...props} rows={rows} onAction={(action, id) => setOpen({ action, id })} />
            {dialogOf(rows)}
          </Card>
        )}
      </QueryResult>
      <CurlHint path={`/${kind.path}`} />
    </>
  )
}

/** The table of the records, each with its actions. */
function Records<Row extends Managed, Own extends string>(
  props: ManagedPageProps<Row, Own> & {
    rows: Row[]
    onAction(action: Own | Confirmed, id: string): void
  },
) {
  const { kind, empty, columns, ownActions, isFixed, rows, onAction } = props
  const [first, ...others] = ownActions
  const { mayManage } = useRights()
  const reading = ownActions.find(({ reads }) => reads)
  const { words } = kind
  const nameOf = rowNames(rows, ({ name }) => withVisibleControls(name))
  if (empty && rows.length === 0) return <EmptyState title={empty.title}>{empty.advice}</EmptyState>
  const menu = (row: Row) => {
    const { id, active } = row
    const toggle = active ? 'deactivate' : 'activate'
    const open = mayManage ? first : reading
    const frequent = open && { label: open.label, onClick: () => onAction(open.action, id) }
    return (
      <ActionsMenu name={nameOf(row)} {...(frequent && { frequent })}>
        {!mayManage || isFixed?.(row) ? undefined : (
          <>
            {others.map(({ action, label }) => (
              <Menu.Item key={action} onClick={() => onAction(action, id)}>
                {label}
              </Menu.Item>
            ))}
            {stateOf(row, words.inactive) !== 'expired' && (
              <Menu.Item onClick={() => onAction(toggle, id)}>{words[toggle]}</Menu.Item>
            )}
            <Menu.Item className="warning" onClick={() => onAction('delete', id)}>
              Delete
            </Menu.Item>
          </>
        )}
      </ActionsMenu>
    )
  }
  const status = (row: Row) => <StateBadge state={stateOf(row, words.inactive)} />
  return (
    <DataTable
      rows={rows}
      columns={[{ title: 'Status', cell: status }, ...columns, { title: 'Actions', cell: menu }]}
    />
  )
}

/** A record that admins of all projects create, switch on and off, and delete. */
type Managed = { id: string; name: string; active: boolean; expireTime?: string }

/** A kind of records, and what is said of their changes. */
export type ManagedKind<Row extends Managed> = {
  /** Its path in the API, which is also the key of its queries. */
  path: string
  operations(client: Client): {
    list(options: Pick<CallOptions, 'signal'>): Promise<Row[]>
    update(id: string, body: { active: boolean }, options: Confirmation): Promise<unknown>
    delete(id: string, options: Confirmation): Promise<unknown>
  }
  words: { activate: string; deactivate: string; inactive: State & ('inactive' | 'revoked') }
  /** The `Facts` that tell a record from others. */
  facts(row: Row): ReactNode
  /** Whom a change concerns. A deletion concerns those whom a deactivation does. */
  impact?(row: Row, change: { active: boolean }): ReactNode
  /** The consequence of a change, as the last words before it is confirmed. */
  consequences: Record<Confirmed, string>
}

/** The changes that need nothing but a confirmation. */
const confirmed = ['activate', 'deactivate', 'delete'] as const
type Confirmed = (typeof confirmed)[number]

function ConfirmChange<Row extends Managed>(props: {
  kind: ManagedKind<Row>
  action: Confirmed
  row: Row
  onClose(): void
}) {
  const { kind, action, row, onClose } = props
  const change = useChange([kind.path])
  const path = `/${kind.path}/${row.id}`
  const isDeletion = action === 'delete'
  const body = { active: action === 'activate' }
  const verb = isDeletion ? 'Delete' : kind.words[action]
  return (
    <ActionDialog
      title={`${verb} ${quoted(row.name)}?`}
      action={isDeletion ? 'Delete permanently' : verb}
      danger={action !== 'activate'}
      request={isDeletion ? { method: 'DELETE', path } : { method: 'PATCH', path, body }}
      run={(confirmation) =>
        change((client) => {
          const operations = kind.operations(client)
          return isDeletion
            ? operations.delete(row.id, confirmation)
            : operations.update(row.id, body, confirmation)
        })
      }
      onClose={onClose}
    >
      {kind.facts(row)}
      {kind.impact?.(row, body)}
      {kind.consequences[action]}
    </ActionDialog>
  )
}
