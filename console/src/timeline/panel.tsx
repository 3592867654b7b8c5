import {
  ActionIcon,
  Button,
  Card,
  Group,
  SegmentedControl,
  Stack,
  Text,
  Tooltip,
} from '@mantine/core'
import type { JwtKey, Project } from '@pubring/client'
import {
  IconArrowsHorizontal,
  IconChevronLeft,
  IconChevronRight,
  IconMinus,
  IconPlus,
  IconSearch,
} from '@tabler/icons-react'
import { type KeyboardEvent, useState } from 'react'
import { EmptyState, LoadingRows, QueryResult } from '../components/states.tsx'
import { exactTime } from '../components/times.tsx'
import { TextField } from '../forms/text-fields.tsx'
import { useTyped } from '../forms/typed.ts'
import { useQueryParams } from '../fragment.ts'
import { useKeys } from '../keys/queries.ts'
import { Chart, SpanTable } from './chart.tsx'
import { type Bars, useBars } from './queries.ts'
import { isPublished, type KeyBar, spanAt, spanStates } from './spans.ts'
import { lengthOf, pan, resize, type TimeWindow, windowOfAll, zoomLevels } from './window.ts'
import { labelOf, meaningOf, visibleSpans } from './words.ts'

/** Bars that are drawn at first, and with each click on “Show more”. */
const pageSize = 100

/** The keys of a project over time, as a picture or a table. */
export function TimelinePanel({ project }: { project: Project }) {
  const query = useKeys(project.id)
  return (
    <QueryResult query={query}>
      {(keys) => <LoadedTimeline project={project} keys={keys} />}
    </QueryResult>
  )
}

function LoadedTimeline({ project, keys }: { project: Project; keys: JwtKey[] }) {
  const loaded = useBars(project, keys)
  if (loaded === undefined) return <LoadingRows rows={6} />
  if (loaded.bars.length === 0) {
    return (
      <Card withBorder>
        <EmptyState title="No keys yet">
          The timeline shows when each key was published and switched off.
        </EmptyState>
      </Card>
    )
  }
  return <Timeline projectId={project.id} {...loaded} />
}

function Timeline({ projectId, bars, completeSince, now }: Bars & { projectId: string }) {
  const [params, change] = useQueryParams()
  const [limit, setLimit] = useState(pageSize)
  const window = windowOf(params) ?? windowOfAll(bars, now)
  const search = params.get('q') ?? ''
  const asTable = params.get('view') === 'table'
  const typed = useTyped({ value: search, onValue: (q) => change({ q }) })
  const show = ({ from, to }: TimeWindow) =>
    change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })
  const found = byImportance(bars, window, now).filter(({ label, kid }) =>
    `${label}\n${kid}`.toLowerCase().includes(search.trim().toLowerCase()),
  )
  const shown = found.slice(0, limit)
  const View = asTable ? SpanTable : Chart
  return (
    <Stack gap="sm">
      <Group gap="sm" justify="space-between">
        <TextField
          aria-label="Search the timeline"
          placeholder="Label or kid"
          leftSection={<IconSearch size={16} />}
          {...typed}
        />
        <SegmentedControl
          aria-label="Show as"
          data={['Picture', 'Table']}
          value={asTable ? 'Table' : 'Picture'}
          onChange={(view) => change({ view: view.toLowerCase() })}
        />
      </Group>
      <Card withBorder padding="md">
        <WindowControls window={window} all={windowOfAll(bars, now)} now={now} onWindow={show}>
          <View projectId={projectId} bars={shown} window={window} now={now} />
        </WindowControls>
        <Text size="sm" c="dimmed" role="status" mt="sm">
          {countText(shown.length, found.length, bars.length)}
          {completeSince !== undefined &&
            ` Changes before ${exactTime(completeSince)} are not drawn: the history has them.`}
        </Text>
        {shown.length < found.length && (
          <Button variant="default" mt="xs" onClick={() => setLimit(limit + pageSize)}>
            Show {Math.min(pageSize, found.length - shown.length)} more
          </Button>
        )}
      </Card>
    </Stack>
  )
}

/** The window in the URL, so that a link shows the same. */
function windowOf(params: URLSearchParams): TimeWindow | undefined {
  const [from, to] = ['from', 'to'].map((name) => Date.parse(params.get(name) ?? ''))
  if (from === undefined || to === undefined || !(from < to)) return undefined
  return { from, to }
}

/** The bars with a span in the window; the keys that verifiers accept now come first. */
function byImportance(bars: KeyBar[], window: TimeWindow, now: number): KeyBar[] {
  const isLive = (bar: KeyBar) => {
    const span = spanAt(bar, now)
    return span !== undefined && isPublished(span.state)
  }
  const { live = [], other = [] } = Object.groupBy(
    bars.filter((bar) => visibleSpans(bar, window).length > 0),
    (bar) => (isLive(bar) ? 'live' : 'other'),
  )
  return [...live, ...other]
}

function countText(shown: number, found: number, all: number): string {
  const keys = (count: number) => `${count} ${count === 1 ? 'key' : 'keys'}`
  if (shown < found) return `The first ${shown} of ${keys(found)}: search for others, or show more.`
  return found === all ? `${keys(all)}.` : `${found} of ${keys(all)}.`
}

type ControlProps = {
  window: TimeWindow
  all: TimeWindow
  now: number
  onWindow(window: TimeWindow): void
  children: React.ReactNode
}

/** Buttons and keys that move and zoom the window around `children`. */
function WindowControls({ window, all, now, onWindow, children }: ControlProps) {
  const length = lengthOf(window)
  const actions = [
    { name: 'Earlier', key: 'ArrowLeft', Icon: IconChevronLeft, to: pan(window, -0.5) },
    { name: 'Later', key: 'ArrowRight', Icon: IconChevronRight, to: pan(window, 0.5) },
    { name: 'Zoom out', key: '-', Icon: IconMinus, to: resize(window, length * 2, now) },
    { name: 'Zoom in', key: '+', Icon: IconPlus, to: resize(window, length / 2, now) },
    { name: 'Show all', key: '0', Icon: IconArrowsHorizontal, to: all },
  ]
  const level = zoomLevels.find(({ ms }) => Math.abs(ms - length) < 1_000)
  function onKeyDown(event: KeyboardEvent) {
    const action = actions.find(({ key }) => key === event.key)
    // Arrows choose in the fields of the controls.
    if (event.target instanceof HTMLInputElement) return
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    onWindow(action.to)
  }
  return (
    <fieldset onKeyDown={onKeyDown}>
      <Group justify="space-between" gap="sm" mb="sm">
        <Group gap={4}>
          {actions.map(({ name, key, Icon, to }) => (
            <Tooltip key={name} label={`${name} (${key.replace('Arrow', '').toLowerCase()})`}>
              <ActionIcon
                variant="default"
                size="lg"
                aria-label={name}
                onClick={() => onWindow(to)}
              >
                <Icon size={16} />
              </ActionIcon>
            </Tooltip>
          ))}
        </Group>
        <SegmentedControl
          size="xs"
          visibleFrom="sm"
          aria-label="Visible time"
          data={zoomLevels.map(({ label }) => label)}
          value={level?.label ?? ''}
          onChange={(chosen) => {
            const { ms = length } = zoomLevels.find(({ label }) => label === chosen) ?? {}
            onWindow(resize(window, ms, now))
          }}
        />
      </Group>
      {children}
      <Legend />
    </fieldset>
  )
}

function Legend() {
  return (
    <Group gap="md" mt="md" role="list" aria-label="Legend">
      {spanStates.map((state) => (
        <Tooltip key={state} label={meaningOf(state)}>
          <Group gap={6} role="listitem">
            <span className={`chart-swatch span-${state}`} aria-hidden />
            <Text size="xs">{labelOf(state)}</Text>
          </Group>
        </Tooltip>
      ))}
      <Group gap={6} role="listitem">
        <span className="chart-swatch swatch-event" aria-hidden />
        <Text size="xs">Event</Text>
      </Group>
    </Group>
  )
}
