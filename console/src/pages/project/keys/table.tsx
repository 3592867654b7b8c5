import { Button, Group, Menu, Text, Tooltip } from '@mantine/core'
import { Fragment, useMemo } from 'react'
import { Link } from 'wouter'
import { ActionsMenu } from '../../../components/actions-menu.tsx'
import { CopyButton } from '../../../components/copy.tsx'
import { endOf, rowNames } from '../../../components/ids.ts'
import { KeyStateBadge } from '../../../components/key-state-badge.tsx'
import { TextLink } from '../../../components/text-link.tsx'
import { OptionalTime, RelativeTime } from '../../../components/times.tsx'
import { UserText, withVisibleControls } from '../../../components/user-text.tsx'
import { type SortableColumn, VirtualTable } from '../../../components/virtual-table/table.tsx'
import { describeMaterial } from '../../../keys/material.ts'
import type { KeyRow } from '../../../keys/states.ts'
import { UseVerdict } from '../../../keys/use-verdict.tsx'
import { useRights } from '../../../session/rights.ts'
import { actionsOf, type KeyAction } from '../key-actions.ts'
import { isOrder, type ListQuery } from './query.ts'

type OnAction = (action: KeyAction, key: KeyRow) => void

type NameOf = (row: KeyRow) => string

/** The keys of a project. `onAction` and `onSelect` must not change between renders. */
export function KeyTable(props: {
  projectId: string
  rows: KeyRow[]
  query: ListQuery
  onQuery(part: Partial<ListQuery>): void
  selected: ReadonlySet<string>
  onSelect(selected: Set<string>): void
  onAction: OnAction
}) {
  const { projectId, rows, query, onQuery, selected, onSelect, onAction } = props
  const { mayWrite } = useRights(projectId)
  const nameOf = useMemo(() => rowNames(rows, ({ label }) => withVisibleControls(label)), [rows])
  const columns = useMemo(
    () => columnsOf(nameOf, mayWrite ? onAction : undefined),
    [nameOf, mayWrite, onAction],
  )
  const { sort, descending } = query
  const onSort = (by: string, reversed: boolean) => {
    if (isOrder(by)) onQuery({ sort: by, descending: reversed })
  }
  return (
    <VirtualTable
      name="Keys"
      rows={rows}
      columns={columns}
      sorting={{ by: sort, descending, onSort }}
      selection={mayWrite ? { selected, nameOf, onSelect } : undefined}
    />
  )
}

/** Without `onAction`, for readers. */
function columnsOf(nameOf: NameOf, onAction: OnAction | undefined): SortableColumn<KeyRow>[] {
  const name = (row: KeyRow) => <KeyName row={row} name={nameOf(row)} />
  const columns = [{ title: 'Label', sort: 'label', cell: name }, ...facts]
  if (onAction === undefined) return columns
  const cell = (row: KeyRow) => <KeyActions row={row} name={nameOf(row)} onAction={onAction} />
  return [...columns, { title: 'Actions', width: '14.75rem', cell }]
}

const facts: SortableColumn<KeyRow>[] = [
  { title: 'State', sort: 'state', width: '10.25rem', cell: (row) => <State row={row} /> },
  { title: 'Algorithm', sort: 'algorithm', width: '7rem', cell: (row) => <Material row={row} /> },
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

function State({ row }: { row: KeyRow }) {
  return (
    <span>
      <KeyStateBadge row={row} />
      <UseVerdict row={row} />
    </span>
  )
}

/** The label, which leads to the page of the key, and the kid. */
function KeyName(props: { row: KeyRow; name: string }) {
  const { id, label, projectId } = props.row
  return (
    <div className="row-name">
      <TextLink
        href={`/projects/${projectId}/keys/${id}`}
        className="row-link"
        fw={600}
        underline="hover"
      >
        <UserText>{label}</UserText>
      </TextLink>
      <Group gap={2} wrap="nowrap" className="row-kid">
        <Tooltip label={id}>
          <Text span size="xs" c="dimmed" className="mono" style={{ whiteSpace: 'nowrap' }}>
            {endOf(id)}
          </Text>
        </Tooltip>
        <CopyButton value={id} name={`kid of ${props.name}`} />
      </Group>
    </div>
  )
}

function Material({ row }: { row: KeyRow }) {
  const material = describeMaterial(row)
  return (
    <span>
      {row.algorithm}
      {material !== '' && (
        <Text size="xs" c="dimmed" component="span" className="row-detail">
          {material}
        </Text>
      )}
    </span>
  )
}

const isInMenu = (action: KeyAction | 'rotate') =>
  ['rename', 'expire', 'compromise', 'delete'].includes(action)

/** The frequent actions, and a menu with the others. */
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
      <ActionsMenu name={name}>
        {rare.map(({ action, label, Icon }) => (
          <Fragment key={action}>
            {action === 'delete' && <Menu.Divider />}
            <Menu.Item
              leftSection={<Icon size={16} />}
              {...(action === 'delete' && { className: 'warning' })}
              onClick={() => action !== 'rotate' && onAction(action, row)}
            >
              {label}
            </Menu.Item>
          </Fragment>
        ))}
      </ActionsMenu>
    </Group>
  )
}
