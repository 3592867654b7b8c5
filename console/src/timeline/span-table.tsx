import { Anchor, Table, Text } from '@mantine/core'
import type { Event } from '@pubring/client'
import { Link } from 'wouter'
import { exactTime } from '../components/times.tsx'
import { UserText } from '../components/user-text.tsx'
import { sentenceText } from '../events/sentences.ts'
import type { KeyBar, Span } from './spans.ts'
import type { TimeWindow } from './window.ts'
import { endOf, labelOf, meaningOf, visibleSpans } from './words.ts'

/** The spans and events of the bars in the visible time, as a table. */
export function SpanTable(props: {
  projectId: string
  bars: KeyBar[]
  window: TimeWindow
  now: number
}) {
  const { projectId, bars, window, now } = props
  return (
    <div className="table-scroll">
      <Table verticalSpacing={6} className="span-table">
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
}

/** The page of a deleted key has its history. */
function KeyCell(props: { projectId: string; bar: KeyBar; rows: number }) {
  const { projectId, bar, rows } = props
  return (
    <Table.Th scope="rowgroup" rowSpan={rows} fw={600} style={{ verticalAlign: 'top' }}>
      <Anchor component={Link} href={`/projects/${projectId}/keys/${bar.kid}`} inherit>
        <UserText>{bar.label}</UserText>
      </Anchor>
      <Text span size="xs" c="dimmed" className="mono" display="block">
        {bar.kid}
      </Text>
    </Table.Th>
  )
}

function SpanCells({ bar, span, now }: { bar: KeyBar; span: Span; now: number }) {
  return (
    <>
      <Table.Td title={meaningOf(span.state)}>
        {labelOf(span.state)}
        {span.from > now && ' (planned)'}
      </Table.Td>
      <Table.Td>{exactTime(span.from)}</Table.Td>
      <Table.Td>{endOf(span)}</Table.Td>
      <Table.Td>
        {eventsOf(bar, span).map((event) => (
          <div key={event.revision}>
            <UserText>{sentenceText(event, undefined)}</UserText> by{' '}
            <UserText>{event.actor.name}</UserText>, {exactTime(event.time)}
          </div>
        ))}
      </Table.Td>
    </>
  )
}

/** The events of a span. The deletion of a key ends its last span. */
function eventsOf({ events, spans }: KeyBar, span: Span): Event[] {
  const isLast = span === spans.at(-1)
  return events.filter(({ time }) => {
    const at = Date.parse(time)
    return span.from <= at && (at < span.to || isLast)
  })
}
