import { Table, Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import type { Event } from '@pubring/client'
import { IconChevronRight } from '@tabler/icons-react'
import { capitalized } from '../components/capitalized.ts'
import { Disclosure } from '../components/disclosure.tsx'
import { exactTime, TextLink, UserText } from '../components/text.tsx'
import { sentenceText } from '../events/sentences.ts'
import { stateMeanings } from '../keys/state-words.ts'
import { type KeyBar, type Span, type SpanState, spanAt } from './spans.ts'
import { lengthOf, type TimeWindow, ticks } from './window.ts'

type View = { window: TimeWindow; now: number }
type ChartProps = View & { projectId: string; bars: KeyBar[] }
type RowProps = View & { projectId: string; bar: KeyBar }

export const Chart = ({ projectId, bars, window, now }: ChartProps) => (
  <div className="chart">
    <Axis window={window} now={now} />
    <ol className="chart-rows">
      {bars.map((bar) => (
        <Row key={bar.kid} projectId={projectId} bar={bar} window={window} now={now} />
      ))}
    </ol>
  </div>
)

/** Where a time is in the picture, in percent of its width; not beyond its edges. */
const position = (time: number, window: TimeWindow): number =>
  Math.min(Math.max((time - window.from) / lengthOf(window), 0), 1) * 100

const isVisible = (time: number, { from, to }: TimeWindow) => from <= time && time <= to

/** In pixels; as wide as a weekday with a time. */
const tickWidth = 100

function Axis({ window, now }: View) {
  const { ref, width } = useElementSize()
  return (
    <div className="chart-axis" ref={ref} aria-hidden>
      {ticks(window, Math.min(width / tickWidth, 8)).map(({ time, label }) => (
        <span key={time} style={{ left: `${position(time, window)}%` }}>
          {label}
        </span>
      ))}
      {isVisible(now, window) && <b style={{ left: `${position(now, window)}%` }}>now</b>}
    </div>
  )
}

function Row({ projectId, bar, window, now }: RowProps) {
  const current = spanAt(bar, now)
  const row = (opened: boolean) => (
    <>
      <span className="chart-name">
        <IconChevronRight size={14} aria-hidden style={{ rotate: opened ? '90deg' : '0deg' }} />
        <span className="chart-label" title={bar.label}>
          <UserText>{bar.label}</UserText>
        </span>
        <Text span size="xs" c="dimmed" className="unshrinkable">
          {bar.isDeleted ? 'Deleted' : current && labelOf(current.state)}
        </Text>
      </span>
      <Track bar={bar} window={window} now={now} />
    </>
  )
  return (
    <li data-kid={bar.kid}>
      <Disclosure className="chart-row" button={row}>
        <SpanTable projectId={projectId} bars={[bar]} window={window} now={now} />
      </Disclosure>
    </li>
  )
}

const Track = ({ bar, window, now }: Omit<RowProps, 'projectId'>) => (
  <span className="chart-track" role="img" aria-label={describeBar(bar, window)}>
    {visibleSpans(bar, window).map(({ state, from, to }) => {
      const left = position(from, window)
      return (
        <span
          key={from}
          className={`chart-span span-${state}`}
          data-state={state}
          style={{ left: `${left}%`, width: `${position(to, window) - left}%` }}
          title={`${labelOf(state)} from ${exactTime(from)}`}
        />
      )
    })}
    {bar.events
      .filter(({ time }) => isVisible(Date.parse(time), window))
      .map((event) => (
        <span
          key={event.revision}
          className="chart-event"
          style={{ left: `${position(Date.parse(event.time), window)}%` }}
          title={`${sentenceText(event, bar.label)}, ${exactTime(event.time)}`}
        />
      ))}
    {isVisible(now, window) && (
      <>
        <span className="chart-future" style={{ left: `${position(now, window)}%` }} />
        <span className="chart-now" style={{ left: `${position(now, window)}%` }} />
      </>
    )}
  </span>
)

export const SpanTable = ({ projectId, bars, window, now }: ChartProps) => (
  <div className="cards-container">
    <Table verticalSpacing={6} className="cards span-table">
      <Table.Thead>
        <Table.Tr>
          {['Key', 'State', 'From', 'Until', 'Events'].map((title) => (
            <Table.Th key={title}>{title}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {bars.flatMap((bar) =>
          visibleSpans(bar, window).map((span, index, { length }) => (
            <Table.Tr key={`${bar.kid} ${span.from}`} data-state={span.state}>
              {index === 0 && <KeyCell projectId={projectId} bar={bar} rows={length} />}
              <SpanCells bar={bar} span={span} now={now} />
            </Table.Tr>
          )),
        )}
      </Table.Tbody>
    </Table>
  </div>
)

/** The page of a deleted key has its history. */
const KeyCell = ({ projectId, bar, rows }: { projectId: string; bar: KeyBar; rows: number }) => (
  <Table.Th scope="rowgroup" rowSpan={rows} fw={600} style={{ verticalAlign: 'top' }}>
    <TextLink href={`/projects/${projectId}/keys/${bar.kid}`} underline="hover">
      <UserText>{bar.label}</UserText>
    </TextLink>
    <Text span size="xs" c="dimmed" className="mono" display="block">
      {bar.kid}
    </Text>
  </Table.Th>
)

const SpanCells = ({ bar, span, now }: { bar: KeyBar; span: Span; now: number }) => (
  <>
    <Table.Td data-label="State" title={meaningOf(span.state)}>
      {labelOf(span.state)}
      {span.from > now && ' (planned)'}
    </Table.Td>
    <Table.Td data-label="From">{exactTime(span.from)}</Table.Td>
    <Table.Td data-label="Until">{untilText(span)}</Table.Td>
    <Table.Td data-label="Events">
      {eventsOf(bar, span).map((event) => (
        <div key={event.revision}>
          <UserText>{sentenceText(event, undefined)}</UserText> by{' '}
          <UserText>{event.actor.name}</UserText>, {exactTime(event.time)}
        </div>
      ))}
    </Table.Td>
  </>
)

/** The events of a span. The deletion of a key ends its last span. */
function eventsOf({ events, spans }: KeyBar, span: Span): Event[] {
  const isLast = span === spans.at(-1)
  return events.filter(({ time }) => {
    const at = Date.parse(time)
    return span.from <= at && (at < span.to || isLast)
  })
}

export const labelOf = (state: SpanState): string =>
  state === 'unknown' ? 'Not read' : capitalized(state)

export const meaningOf = (state: SpanState): string =>
  state === 'unknown' ? 'The events of this time are not loaded' : stateMeanings[state]

/** The spans that are at least partly in the window. */
export const visibleSpans = ({ spans }: KeyBar, { from, to }: TimeWindow): Span[] =>
  spans.filter((span) => span.to > from && span.from < to)

const untilText = ({ to }: Span): string =>
  to === Number.POSITIVE_INFINITY ? 'no end known' : exactTime(to)

function describeBar(bar: KeyBar, window: TimeWindow): string {
  const spans = visibleSpans(bar, window).map(
    (span) => `${labelOf(span.state)} from ${exactTime(span.from)}, ${untilText(span)}`,
  )
  return spans.length === 0 ? 'Nothing in the visible time' : spans.join('; ')
}
