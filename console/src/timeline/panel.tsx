import { Button, Card, Group, SegmentedControl, Stack, Text, Tooltip } from '@mantine/core'
import type { Event, JwtKey, Project, Rotation } from '@pubring/client'
import {
  IconArrowsHorizontal,
  IconChevronLeft,
  IconChevronRight,
  IconMinus,
  IconPlus,
  IconSearch,
} from '@tabler/icons-react'
import { type KeyboardEvent, useMemo, useState } from 'react'
import { ToolButton } from '../components/buttons.tsx'
import { sortedBy } from '../components/sorting.ts'
import { both, EmptyState, LoadingRows, QueryResult } from '../components/states.tsx'
import { counted, exactTime, useNow } from '../components/text.tsx'
import { fieldOf, TextField } from '../forms/text-fields.tsx'
import { usePageQuery, useTyped } from '../fragment.ts'
import { useKey, useKeys } from '../keys/queries.ts'
import { useRotations } from '../keys/rotations.ts'
import { useApi } from '../session/session.tsx'
import { Chart, labelOf, meaningOf, SpanTable, visibleSpans } from './chart.tsx'
import { isPublished, type KeyBar, keyBars, spanAt, spanStates, spreadOf } from './spans.ts'
import { lengthOf, pan, resize, type TimeWindow, windowOfAll } from './window.ts'

/** Bars that are drawn at first, and with each click on “Show more”. */
const pageSize = 100

const members = ['q', 'view', 'from', 'to'] as const

export function TimelinePanel({ project: { id } }: { project: Project }) {
  const query = both(useKeys(id), both(useNewestEvents(id), useRotations(id)))
  return (
    <QueryResult query={query} rows={6}>
      {([keys, [history, rotations]]) => (
        <Bars projectId={id} keys={keys} rotations={rotations} {...history} />
      )}
    </QueryResult>
  )
}

type BarsProps = History & { projectId: string; keys: JwtKey[]; rotations: Rotation[] }

function Bars({ projectId, keys, rotations, events, completeSince }: BarsProps) {
  const { data: details, isFetching } = useKey(projectId, keys.at(-1)?.id)
  const now = useNow(15_000)
  const bars = useMemo(() => {
    const spreadMs = details === undefined ? 0 : spreadOf(details, events, now)
    const partial = completeSince === undefined ? {} : { completeSince }
    return keyBars({ keys, events, ...partial, rotations, now, spreadMs })
  }, [keys, rotations, events, completeSince, details, now])
  if (details === undefined && isFetching) return <LoadingRows rows={6} />
  if (bars.length > 0)
    return <Timeline bars={bars} now={now} projectId={projectId} completeSince={completeSince} />
  return (
    <Card withBorder>
      <EmptyState title="No keys yet">
        The timeline shows when each key was published and switched off.
      </EmptyState>
    </Card>
  )
}

type TimelineProps = Omit<BarsProps, 'keys' | 'rotations' | 'events'> & {
  bars: KeyBar[]
  now: number
}

function Timeline({ projectId, bars, completeSince, now }: TimelineProps) {
  const [query, change] = usePageQuery(members)
  const [limit, setLimit] = useState(pageSize)
  const window = windowOf(query) ?? windowOfAll(bars, now)
  const asTable = query.view === 'table'
  const typed = useTyped(fieldOf(query, change, 'q'))
  const show = ({ from, to }: TimeWindow) =>
    change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })
  const found = byImportance(bars, window, now).filter(({ label, kid }) =>
    `${label}\n${kid}`.toLowerCase().includes(query.q.trim().toLowerCase()),
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
        <Text c="dimmed" role="status" mt="sm">
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

function windowOf(query: Record<'from' | 'to', string>): TimeWindow | undefined {
  const [from, to] = [Date.parse(query.from), Date.parse(query.to)]
  return from < to ? { from, to } : undefined
}

/** The bars with a span in the window; the keys that verifiers accept now come first. */
function byImportance(bars: KeyBar[], window: TimeWindow, now: number): KeyBar[] {
  const visible = bars.filter((bar) => visibleSpans(bar, window).length > 0)
  return sortedBy(visible, (bar) => [isPublished(spanAt(bar, now)?.state ?? 'off') ? 0 : 1])
}

function countText(shown: number, found: number, all: number): string {
  if (shown < found)
    return `The first ${shown} of ${counted(found, 'key')}: search for others, or show more.`
  return found === all ? `${counted(all, 'key')}.` : `${found} of ${counted(all, 'key')}.`
}

type ControlProps = {
  window: TimeWindow
  all: TimeWindow
  now: number
  onWindow(window: TimeWindow): void
  children: React.ReactNode
}

function WindowControls({ window, all, now, onWindow, children }: ControlProps) {
  const length = lengthOf(window)
  const actions = [
    { name: 'Earlier', key: 'ArrowLeft', Icon: IconChevronLeft, to: pan(window, -0.5) },
    { name: 'Later', key: 'ArrowRight', Icon: IconChevronRight, to: pan(window, 0.5) },
    { name: 'Zoom out', key: '-', Icon: IconMinus, to: resize(window, length * 2, now) },
    { name: 'Zoom in', key: '+', Icon: IconPlus, to: resize(window, length / 2, now) },
    { name: 'Show all', key: '0', Icon: IconArrowsHorizontal, to: all },
  ]
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
      <Group gap={4} mb="sm">
        {actions.map(({ name, key, Icon, to }) => (
          <Tooltip key={name} label={`${name} (${key.replace('Arrow', '').toLowerCase()})`}>
            <ToolButton Icon={Icon} label={name} onClick={() => onWindow(to)} />
          </Tooltip>
        ))}
      </Group>
      {children}
      <Legend />
    </fieldset>
  )
}

const Legend = () => (
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

/** Newest events that the picture is drawn from. */
const maxEvents = 1_000

const types = 'key.created,key.updated,key.deleted,key.recorded,key.weakness_found'

type History = {
  events: Event[]
  /** Since when the events were read, in epoch milliseconds, if not from the beginning. */
  completeSince: number | undefined
}

/** The newest events, oldest first. */
function useNewestEvents(project: string) {
  return useApi(['events', project, 'timeline'], async (client, signal): Promise<History> => {
    const events: Event[] = []
    const query = { project, type: types, order: 'desc', signal } as const
    for await (const event of client.events.all(query)) {
      if (events.length === maxEvents) {
        return { events: events.reverse(), completeSince: Date.parse(event.time) + 1 }
      }
      events.push(event)
    }
    return { events: events.reverse(), completeSince: undefined }
  })
}
