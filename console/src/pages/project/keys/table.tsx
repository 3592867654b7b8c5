import { Button, Group } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { ActionsMenu, RowLink } from '../../../components/data-table.tsx'
import { KeyStateBadge } from '../../../components/state-badge.tsx'
import { OptionalTime, RelativeTime, rowNames } from '../../../components/text.tsx'
import {
  type SortableColumn,
  type Sorting,
  VirtualTable,
} from '../../../components/virtual-table/table.tsx'
import { describeMaterial } from '../../../keys/material.ts'
import type { KeyRow } from '../../../keys/queries.ts'
import { Detail, UseVerdict } from '../../../keys/use-verdict.tsx'
import { useRights } from '../../../session/session.tsx'
import { actionsOf, type KeyAction } from '../key-actions.ts'

type OnAction = (action: KeyAction, key: KeyRow) => void

type NameOf = (row: KeyRow) => string

/** The keys of a project. `onAction` and `onSelect` must not change between renders. */
export function KeyTable(props: {
  projectId: string
  rows: KeyRow[]
  sorting: Sorting
  selected: ReadonlySet<string>
  onSelect(selected: Set<string>): void
  onAction: OnAction
}) {
  const { projectId, rows, sorting, selected, onSelect, onAction } = props
  const { mayWrite } = useRights(projectId)
  const nameOf = useMemo(() => rowNames(rows, ({ label }) => label), [rows])
  const columns = useMemo(
    () => columnsOf(nameOf, mayWrite ? onAction : undefined),
    [nameOf, mayWrite, onAction],
  )
  return (
    <VirtualTable
      name="Keys"
      rows={rows}
      columns={columns}
      sorting={sorting}
      selection={mayWrite ? { selected, nameOf, onSelect } : undefined}
    />
  )
}

/** Without `onAction`, for readers. */
function columnsOf(nameOf: NameOf, onAction: OnAction | undefined): SortableColumn<KeyRow>[] {
  const name = (row: KeyRow) => {
    const href = `/projects/${row.projectId}/keys/${row.id}`
    return <RowLink href={href} id={row.id} label={row.label} idName={`kid of ${nameOf(row)}`} />
  }
  const columns = [{ title: 'Label', sort: 'label', cell: name }, ...facts]
  if (onAction === undefined) return columns
  const cell = (row: KeyRow) => <KeyActions row={row} name={nameOf(row)} onAction={onAction} />
  return [...columns, { title: 'Actions', width: '14.75rem', cell }]
}

const facts: SortableColumn<KeyRow>[] = [
  {
    title: 'State',
    sort: 'state',
    width: '10.25rem',
    cell: (row) => (
      <span>
        <KeyStateBadge row={row} />
        <UseVerdict row={row} />
      </span>
    ),
  },
  {
    title: 'Algorithm',
    sort: 'algorithm',
    width: '7rem',
    cell: (row) => (
      <span>
        {row.algorithm} <Detail>{describeMaterial(row)}</Detail>
      </span>
    ),
  },
  {
    title: 'Registered',
    sort: 'registered',
    width: '8.25rem',
    cell: ({ createTime }) => <RelativeTime time={createTime} />,
  },
  {
    title: 'Expires',
    sort: 'expires',
    width: '7rem',
    cell: ({ active, expireTime }) => <OptionalTime time={expireTime} breaks={active} />,
  },
]

const isInMenu = (action: KeyAction | 'rotate') =>
  ['rename', 'expire', 'compromise', 'delete'].includes(action)

function KeyActions({ row, name, onAction }: { row: KeyRow; name: string; onAction: OnAction }) {
  const rotation = `/projects/${row.projectId}/rotate/${row.id}`
  const [rare = [], frequent = []] = [true, false].map((inMenu) =>
    actionsOf(row).filter(({ action }) => isInMenu(action) === inMenu),
  )
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {frequent.map(({ action, label }) => (
        <Button
          key={action}
          {...(action === 'replace' ? { color: 'red.8' } : { variant: 'default' })}
          size="compact-xs"
          className="unshrinkable"
          aria-label={`${label} ${name}`}
          {...(action === 'rotate'
            ? { component: Link, href: rotation }
            : { onClick: () => onAction(action, row) })}
        >
          {label}
        </Button>
      ))}
      <ActionsMenu
        name={name}
        actions={rare.map(({ action, label, Icon }) => ({
          label,
          Icon,
          isDangerous: action === 'delete',
          onClick: () => action !== 'rotate' && onAction(action, row),
        }))}
      />
    </Group>
  )
}
