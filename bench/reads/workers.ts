import type { Figure, ReadFigure } from '../report/figures.ts'
import { haveCoresEach } from '../server/cores.ts'

/** The cost of a log line for each request. */
export function loggingOverSilence(reads: readonly ReadFigure[]): Figure[] {
  return reads.flatMap((logging) => {
    const [server = ''] = logging.server.split(', logging')
    const silent = reads.find(
      (each) => each.operation === logging.operation && each.server === server,
    )
    if (silent === undefined || server === logging.server) return []
    const over = (value: number) => value / silent.micros.median
    const { median, low, high } = logging.micros
    return [
      {
        name: `with a log line per request, ${logging.operation}`,
        server,
        unit: '×',
        value: { median: over(median), low: over(low), high: over(high) },
        target: { max: 1.3 },
        note: 'CPU per request over that without',
      },
    ]
  })
}

/**
 * The gain of a second worker, measured only where both workers and the load generator have a core
 * each; on fewer cores the three compete, and the figure would mean nothing.
 */
export function workersOverOne(reads: readonly ReadFigure[]): Figure[] {
  if (!haveCoresEach(2)) return []
  return reads.flatMap((two) => {
    const [server = ''] = two.server.split(', 2 workers')
    const one = reads.find((each) => each.operation === two.operation && each.server === server)
    if (one === undefined || server === two.server) return []
    const over = (value: number) => value / one.rate.median
    const { median, low, high } = two.rate
    return [
      {
        name: `2 workers over 1, ${two.operation}`,
        server,
        unit: '×',
        value: { median: over(median), low: over(low), high: over(high) },
        target: { min: 1.6 },
        note: 'requests per second; the load generator has a core of its own',
      },
    ]
  })
}
