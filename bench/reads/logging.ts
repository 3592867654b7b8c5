import type { Figure, ReadFigure } from '../report/figures.ts'

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
