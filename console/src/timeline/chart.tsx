import { Collapse, Text, UnstyledButton } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { useId, useState } from 'react'
import { exactTime } from '../components/times.tsx'
import { UserText } from '../components/user-text.tsx'
import { sentenceText } from '../events/sentences.ts'
import { SpanTable } from './span-table.tsx'
import { type KeyBar, spanAt } from './spans.ts'
import { lengthOf, type TimeWindow, ticks } from './window.ts'
import { describeBar, labelOf, visibleSpans } from './words.ts'

type View = { window: TimeWindow; now: number }
type ChartProps = View & { projectId: string; bars: KeyBar[] }
type RowProps = View & { projectId: string; bar: KeyBar }

/** One bar for each key on a common time axis; a bar expands to its spans and events. */
export function Chart({ projectId, bars, window, now }: ChartProps) {
  return (
    <div className="chart">
      <Axis window={window} now={now} />
      <ol className="chart-rows">
        {bars.map((bar) => (
          <Row key={bar.kid} projectId={projectId} bar={bar} window={window} now={now} />
        ))}
      </ol>
    </div>
  )
}

/** Where a time is in the picture, in percent of its width; not beyond its edges. */
function position(time: number, window: TimeWindow): number {
  return Math.min(Math.max((time - window.from) / lengthOf(window), 0), 1) * 100
}

const isVisible = (time: number, { from, to }: TimeWindow) => from <= time && time <= to

function Axis({ window, now }: View) {
  return (
    <div className="chart-axis" aria-hidden>
      {ticks(window, 8).map(({ time, label }) => (
        <span key={time} style={{ left: `${position(time, window)}%` }}>
          {label}
        </span>
      ))}
      {isVisible(now, window) && <b style={{ left: `${position(now, window)}%` }}>now</b>}
    </div>
  )
}

function Row({ projectId, bar, window, now }: RowProps) {
  const [opened, setOpened] = useState(false)
  const id = useId()
  const current = spanAt(bar, now)
  return (
    <li data-kid={bar.kid}>
      <UnstyledButton
        className="chart-row"
        onClick={() => setOpened(!opened)}
        aria-expanded={opened}
        aria-controls={id}
      >
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
      </UnstyledButton>
      <Collapse id={id} expanded={opened}>
        <div>
          {opened && <SpanTable projectId={projectId} bars={[bar]} window={window} now={now} />}
        </div>
      </Collapse>
    </li>
  )
}

function Track({ bar, window, now }: Omit<RowProps, 'projectId'>) {
  return (
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
}
