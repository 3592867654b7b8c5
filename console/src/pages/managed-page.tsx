import { Card } from '@mantine/core'
import type { CallOptions, Client, Confirmation } from '@pubring/client'
import { IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { IconButton } from '../components/buttons.tsx'
import { CurlHint } from '../components/curl.tsx'
import { ActionsMenu, type Column, DataTable, RowFacts } from '../components/data-table.tsx'
import { type State, StateBadge, stateOf } from '../components/state-badge.tsx'
import { EmptyState, PageHeader, QueryResult } from '../components/states.tsx'
import { quoted, rowNames } from '../components/text.tsx'
import { ActionDialog, useOpenDialog } from '../forms/action-form.tsx'
import { useApi, useRights } from '../session/session.tsx'

type ManagedPageProps<Row extends Managed, Own extends string> = {
  kind: ManagedKind<Row>
  title: string
  description: string
  newLabel: string
  /** In place of no records; absent if there is always one. */
  empty?: { title: string; advice: string }
  columns: Column<Row>[]
  /** The actions that only records of this kind have; the first is the most frequent. */
  ownActions: readonly [OwnAction<Own>, ...OwnAction<Own>[]]
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
  const status = (row: Row) => <StateBadge state={stateOf(row, kind.words.inactive)} />
  const columns = [{ title: 'Status', cell: status }, ...props.columns]
  const dialogOf = (rows: Row[]) => {
    const row = rows.find(({ id }) => id === open?.id)
    const change = confirmed.find((action) => action === open?.action)
    if (row !== undefined && change !== undefined) {
      const facts = <RowFacts name={kind.name} row={row} columns={columns} />
      return <ConfirmChange kind={kind} action={change} row={row} facts={facts} onClose={close} />
    }
    const action = own.find((each) => each === open?.action)
    const isShown = action !== undefined && (action === 'create' || row !== undefined)
    return isShown && props.dialog({ action, row, rows, onClose: close })
  }
  const newButton = (
    <IconButton
      Icon={IconPlus}
      label={newLabel}
      onClick={() => setOpen({ action: 'create', id: '' })}
    />
  )
  return (
    <>
      <PageHeader title={title} actions={mayManage && newButton}>
        {description}
      </PageHeader>
      <QueryResult query={query}>
        {(rows) => (
          <Card withBorder padding="sm" mb="sm">
            <Records
              {...props}
              columns={columns}
              rows={rows}
              onAction={(action, id) => setOpen({ action, id })}
            />
            {dialogOf(rows)}
          </Card>
        )}
      </QueryResult>
      <CurlHint send={(client) => kind.operations(client).list({})} />
    </>
  )
}

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
  const nameOf = rowNames(rows, ({ name }) => name)
  if (empty && rows.length === 0)
    return <EmptyState title={empty.title}>{mayManage && empty.advice}</EmptyState>
  const menu = (row: Row) => {
    const toggle = row.active ? 'deactivate' : 'activate'
    const isExpired = stateOf(row, words.inactive) === 'expired'
    const offer = (action: Own | Confirmed, label: string) => ({
      label,
      isDangerous: action === 'delete',
      onClick: () => onAction(action, row.id),
    })
    const open = mayManage ? first : reading
    const all = [
      ...others.map(({ action, label }) => offer(action, label)),
      ...(isExpired ? [] : [offer(toggle, words[toggle])]),
      offer('delete', 'Delete'),
    ]
    return (
      <ActionsMenu
        name={nameOf(row)}
        frequent={open && offer(open.action, open.label)}
        actions={!mayManage || isFixed?.(row) ? [] : all}
      />
    )
  }
  return <DataTable rows={rows} columns={[...columns, { title: 'Actions', cell: menu }]} />
}

/** A record that admins of all projects create, switch on and off, and delete. */
type Managed = { id: string; name: string; active: boolean; expireTime?: string }

export type ManagedKind<Row extends Managed> = {
  /** Its path in the API, which is also the key of its queries. */
  path: string
  operations(client: Client): {
    list(options: Pick<CallOptions, 'signal'>): Promise<Row[]>
    update(id: string, body: { active: boolean }, options: Confirmation): Promise<unknown>
    delete(id: string, options: Confirmation): Promise<unknown>
  }
  words: { activate: string; deactivate: string; inactive: State & ('inactive' | 'revoked') }
  /** The name of one in a sentence, with its article. */
  name: string
  /** Whom a change concerns. A deletion concerns those whom a deactivation does. */
  impact?(row: Row, change: { active: boolean }): ReactNode
  consequences: Record<Confirmed, string>
}

const confirmed = ['activate', 'deactivate', 'delete'] as const
type Confirmed = (typeof confirmed)[number]

function ConfirmChange<Row extends Managed>(props: {
  kind: ManagedKind<Row>
  action: Confirmed
  row: Row
  facts: ReactNode
  onClose(): void
}) {
  const { kind, action, row, facts, onClose } = props
  const isDeletion = action === 'delete'
  const body = { active: action === 'activate' }
  const verb = isDeletion ? 'Delete' : kind.words[action]
  return (
    <ActionDialog
      title={`${verb} ${quoted(row.name)}?`}
      action={isDeletion ? 'Delete permanently' : verb}
      danger={action !== 'activate'}
      changes={[[kind.path]]}
      send={(client, confirmation) => {
        const operations = kind.operations(client)
        return isDeletion
          ? operations.delete(row.id, confirmation)
          : operations.update(row.id, body, confirmation)
      }}
      onClose={onClose}
    >
      {facts}
      {kind.impact?.(row, body)}
      {kind.consequences[action]}
    </ActionDialog>
  )
}
