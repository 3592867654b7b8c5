import { Badge, Text } from '@mantine/core'
import type { ProjectHealth } from '@pubring/client'
import type { ReactNode } from 'react'
import { RowLink } from '../../components/data-table.tsx'
import { counted, OptionalTime, TextLink } from '../../components/text.tsx'
import {
  type SortableColumn,
  type Sorting,
  VirtualTable,
} from '../../components/virtual-table/table.tsx'
import { alarmOf, alarms, type ProjectRow } from './rows.ts'

export const ProjectTable = ({ rows, sorting }: { rows: ProjectRow[]; sorting: Sorting }) => (
  <VirtualTable name="Projects" rows={rows} columns={columns} sorting={sorting} />
)

const columns: SortableColumn<ProjectRow>[] = [
  {
    title: 'Name',
    sort: 'name',
    cell: ({ id, name }) => (
      <RowLink href={`/projects/${id}`} id={id} label={name} idName={`id of ${name}`} />
    ),
  },
  { title: 'Health', sort: 'urgency', width: '10rem', cell: known(healthBadge) },
  { title: 'Keys', sort: 'keys', width: '13rem', cell: known(keyCounts) },
  {
    title: 'Next expiry',
    sort: 'expiry',
    width: '9rem',
    cell: known(({ nextExpireTime: time }) =>
      time ? <OptionalTime time={time} breaks /> : <None>none</None>,
    ),
  },
  {
    title: 'Rotations',
    sort: 'rotations',
    width: '9rem',
    // The page of the project shows how to go on with each of them.
    cell: known(({ rotations, projectId }) =>
      rotations === 0 ? (
        <None>none</None>
      ) : (
        <TextLink href={`/projects/${projectId}`}>{rotations} under way</TextLink>
      ),
    ),
  },
]

/** A cell that needs the health of the project, which is loaded after the list. */
function known(cell: (health: ProjectHealth, row: ProjectRow) => ReactNode) {
  return (row: ProjectRow) => (row.health ? cell(row.health, row) : <None>…</None>)
}

/** The alarm that the project raises, or the number of its warnings. */
function healthBadge({ keys, warnings: { length } }: ProjectHealth, row: ProjectRow) {
  const alarm = alarms[alarmOf(row)]
  const [color, text] = alarm
    ? ['red', alarm.text]
    : keys.active + keys.off + keys.expired === 0
      ? ['gray', 'No keys yet']
      : length > 0
        ? ['yellow', counted(length, 'warning')]
        : ['teal', 'Healthy']
  const contrast = color === 'teal' && { c: 'light-dark(#056146, var(--mantine-color-teal-2))' }
  return (
    <Badge variant="light" color={color} tt="none" className="unshrinkable" {...contrast}>
      {text}
    </Badge>
  )
}

function keyCounts({ keys }: ProjectHealth) {
  const others = (['compromised', 'off', 'expired'] as const).filter((state) => keys[state] > 0)
  return (
    <span>
      <Text span inherit fw={650} size="lg">
        {keys.active}
      </Text>{' '}
      <Text span size="xs" c="dimmed">
        {['active', ...others.map((state) => `${keys[state]} ${state}`)].join(' · ')}
      </Text>
    </span>
  )
}

const None = ({ children }: { children: string }) => (
  <Text span inherit c="dimmed">
    {children}
  </Text>
)
