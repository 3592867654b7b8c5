import type { Figure, ReadFigure } from '../report/figures.ts'
import { haveCoresEach } from '../server/cores.ts'

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
