import { capitalized } from '../components/capitalized.ts'
import { exactTime } from '../components/times.tsx'
import { stateMeanings } from '../keys/state-words.ts'
import type { KeyBar, Span, SpanState } from './spans.ts'
import type { TimeWindow } from './window.ts'

export const labelOf = (state: SpanState): string =>
  state === 'unknown' ? 'Not read' : capitalized(state)

export const meaningOf = (state: SpanState): string =>
  state === 'unknown' ? 'The events of this time are not loaded' : stateMeanings[state]

/** The spans that are at least partly in the window. */
export function visibleSpans({ spans }: KeyBar, { from, to }: TimeWindow): Span[] {
  return spans.filter((span) => span.to > from && span.from < to)
}

/** The end of a span in words. */
export const endOf = ({ to }: Span): string =>
  to === Number.POSITIVE_INFINITY ? 'no end known' : exactTime(to)

/** The words of a screen reader for a bar. */
export function describeBar(bar: KeyBar, window: TimeWindow): string {
  const spans = visibleSpans(bar, window).map(
    (span) => `${labelOf(span.state)} from ${exactTime(span.from)}, ${endOf(span)}`,
  )
  return spans.length === 0 ? 'Nothing in the visible time' : spans.join('; ')
}
