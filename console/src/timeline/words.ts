import { exactTime } from '../components/times.tsx'
import type { KeyBar, Span, SpanState } from './spans.ts'
import type { TimeWindow } from './window.ts'

export const stateLabels: Record<SpanState, string> = {
  spreading: 'Spreading',
  trusted: 'Trusted',
  overlapping: 'Overlapping',
  expiring: 'Expiring',
  off: 'Off',
  expired: 'Expired',
  unknown: 'Not read',
}

export const stateHelp: Record<SpanState, string> = {
  spreading: 'Published, but not every verifier has loaded it yet',
  trusted: 'Every verifier accepts its tokens',
  overlapping: 'Trusted beside the key that replaces it',
  expiring: 'Trusted, in the last 30 days before its expiry',
  off: 'Switched off',
  expired: 'Past its expiry',
  unknown: 'The events of this time are not loaded',
}

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
    (span) => `${stateLabels[span.state]} from ${exactTime(span.from)}, ${endOf(span)}`,
  )
  return spans.length === 0 ? 'Nothing in the visible time' : spans.join('; ')
}
