import { type Figure, isMet, type ReadFigure } from './figures.ts'
import type { Results } from './results.ts'
import { numberText, tableText, targetText } from './table.ts'

const servers = ['SQLite', 'PostgreSQL']

/** The medians of single processes as Markdown, with a column for each database. */
export function summaryText(results: readonly Results[]): string {
  const reads = results.flatMap((each) => each.reads)
  return reads.length > 0 ? readSummary(reads) : figureSummary(results.flatMap((r) => r.figures))
}

function readSummary(reads: readonly ReadFigure[]): string {
  const rows = Map.groupBy(reads, ({ operation }) => operation)
  return tableText(
    ['operation', 'baseline', ...servers],
    [...rows].map(([operation, figures]) => {
      const cells = ['baseline', ...servers].map((server) => {
        const figure = figures.find((each) => each.server === server)
        if (figure === undefined) return ''
        const micros = `${numberText(figure.micros.median)} µs`
        if (server === 'baseline') return micros
        return `${micros}, ${valueText({ ...figure, unit: '×', value: figure.ratio })}`
      })
      return [operation, ...cells]
    }),
  )
}

/** Units of figures that are shown without a target, too: rates, and costs of commands. */
const alwaysShown = ['/s', 's', 'MiB']

/** The figures that have a target, and those of these units. */
function figureSummary(figures: readonly Figure[]): string {
  const shown = figures.filter(
    ({ target, unit }) => target !== undefined || alwaysShown.includes(unit),
  )
  const ofServer = (server: string) =>
    shown.filter((each) => each.server === server || each.server === `${server}, 2 replicas`)
  const columns = servers.map(ofServer)
  const rows = Map.groupBy(columns.flat(), ({ name, unit }) => `${name}\n${unit}`)
  const texts = [...rows.values()].map((row) => {
    const cells = columns.map((column) => {
      const figure = column.find((each) => row.includes(each))
      return figure === undefined ? '' : valueText(figure)
    })
    return [row[0]?.name ?? '', ...cells]
  })
  return tableText(['figure', ...servers], texts)
}

/** The median in bold if it misses its target, and the target. */
function valueText({ value, unit, target }: Pick<Figure, 'value' | 'unit' | 'target'>): string {
  const median = `${numberText(value.median)} ${unit}`
  if (target === undefined) return median
  const shown = isMet(target, value.median) ? median : `**${median}**`
  return `${shown} (${targetText(target)})`
}
