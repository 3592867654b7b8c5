import { Badge, Group, Text } from '@mantine/core'
import { CopyButton } from '../../components/copy.tsx'
import { endOf } from '../../components/ids.ts'
import { TextLink } from '../../components/text-link.tsx'
import { OptionalTime } from '../../components/times.tsx'
import {
  type SortableColumn,
  type Sorting,
  VirtualTable,
} from '../../components/virtual-table/table.tsx'
import { alarmOf, alarms, type ProjectRow } from './rows.ts'

/** The projects, sortable by each part of their health. */
export function ProjectTable({ rows, sorting }: { rows: ProjectRow[]; sorting: Sorting }) {
  return <VirtualTable name="Projects" rows={rows} columns={columns} sorting={sorting} />
}

const columns: SortableColumn<ProjectRow>[] = [
  {
    title: 'Name',
    sort: 'name',
    cell: ({ id, name }) => (
      <div className="row-name">
        <TextLink href={`/projects/${id}`} fw={600} underline="hover">
          {name}
        </TextLink>
        <Group gap={2} wrap="nowrap" className="row-kid">
          <Text span size="xs" c="dimmed" className="mono" style={{ whiteSpace: 'nowrap' }}>
            {endOf(id)}
          </Text>
          <CopyButton value={id} name={`id of ${name}`} />
        </Group>
      </div>
    ),
  },
  { title: 'Health', sort: 'urgency', width: '10rem', cell: (row) => <Health row={row} /> },
  { title: 'Keys', sort: 'keys', width: '13rem', cell: (row) => <Keys row={row} /> },
  { title: 'Next expiry', sort: 'expiry', width: '9rem', cell: (row) => <NextExpiry row={row} /> },
  { title: 'Rotations', sort: 'rotations', width: '9rem', cell: (row) => <Rotations row={row} /> },
]

/** The alarm that the project raises, or the number of its warnings. */
function Health({ row }: { row: ProjectRow }) {
  const { health } = row
  if (health === undefined) return <Pending />
  const { active, off, expired } = health.keys
  const alarm = alarms[alarmOf(row)]
  const { length } = health.warnings
  const [color, text] = alarm
    ? ['red', alarm.text]
    : active + off + expired === 0
      ? ['gray', 'No keys yet']
      : length > 0
        ? ['yellow', length === 1 ? '1 warning' : `${length} warnings`]
        : ['teal', 'Healthy']
  return (
    <Badge
      variant="light"
      color={color}
      tt="none"
      className="unshrinkable"
      {...(color === 'teal' && { c: 'light-dark(#056146, var(--mantine-color-teal-2))' })}
    >
      {text}
    </Badge>
  )
}

/** Active keys large, the others beside them. */
function Keys({ row: { health } }: { row: ProjectRow }) {
  if (health === undefined) return <Pending />
  const { active, compromised, off, expired } = health.keys
  const others = [
    compromised > 0 && `${compromised} compromised`,
    off > 0 && `${off} off`,
    expired > 0 && `${expired} expired`,
  ].filter(Boolean)
  return (
    <span>
      <Text span inherit fw={650} size="lg">
        {active}
      </Text>{' '}
      <Text span size="xs" c="dimmed">
        {['active', ...others].join(' · ')}
      </Text>
    </span>
  )
}

function NextExpiry({ row: { health } }: { row: ProjectRow }) {
  if (health === undefined) return <Pending />
  const { nextExpireTime } = health
  if (nextExpireTime === undefined) return <None>none</None>
  return <OptionalTime time={nextExpireTime} breaks />
}

/** The page of the project shows how to go on with each of them. */
function Rotations({ row: { id, health } }: { row: ProjectRow }) {
  if (health === undefined) return <Pending />
  if (health.rotations === 0) return <None>none</None>
  return <TextLink href={`/projects/${id}`}>{health.rotations} under way</TextLink>
}

const Pending = () => <None>…</None>

function None({ children }: { children: string }) {
  return (
    <Text span inherit c="dimmed">
      {children}
    </Text>
  )
}
