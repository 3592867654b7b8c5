import { type Figure, isMet, type ReadFigure, type Target } from './figures.ts'
import type { Machine } from './machine.ts'
import type { Results } from './results.ts'
import type { Spread } from './spread.ts'

/** The results as Markdown: the machine, the scope, the reads and all other figures. */
export function resultsText({ machine, scope: extent, reads, figures }: Results): string {
  const parts = [machineText(machine), extent, readTable(reads), figureTable(figures)]
  return parts.filter((part) => part !== '').join('\n\n')
}

function machineText({ cpu, cores, memoryGib, kernel, node, date, load, commit }: Machine): string {
  return `${cpu}, ${cores} cores, ${memoryGib} GiB, Linux ${kernel}, Node ${node}; ${date} UTC, commit ${commit}, load average before ${load}.`
}

function readTable(reads: ReadFigure[]): string {
  if (reads.length === 0) return ''
  const rows = reads.map((figure) => [
    figure.operation,
    figure.server,
    spreadText(figure.micros),
    spreadText(figure.ratio),
    ...targetCells(figure.target, figure.ratio.median),
    Math.round(figure.rate.median).toLocaleString('en'),
    numberText(figure.p50),
    numberText(figure.p99),
  ])
  const head = ['operation', 'server', 'CPU µs/request', 'baseline = 1', 'target', 'met']
  return tableText([...head, 'requests/s', 'p50 ms', 'p99 ms'], rows)
}

function figureTable(figures: Figure[]): string {
  if (figures.length === 0) return ''
  const rows = figures.map(({ name, server, unit, value, target, note }) => [
    name,
    server,
    `${spreadText(value)} ${unit}`,
    ...targetCells(target, value.median),
    note,
  ])
  return tableText(['figure', 'server', 'measured', 'target', 'met', 'meaning'], rows)
}

/** A Markdown table. */
export function tableText(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The bound, and whether it is kept; if not, the factor by which it is missed. */
function targetCells(target: Target | undefined, value: number): string[] {
  if (target === undefined) return ['', '']
  const { max, min = Number.NaN } = target
  const excess = max === undefined ? min / value : value / max
  return [targetText(target), isMet(target, value) ? 'yes' : `**no**, ${excess.toFixed(2)} ×`]
}

export function targetText({ max, min }: Target): string {
  return max === undefined ? `≥ ${min}` : `≤ ${max}`
}

/** The median, and the quartiles unless they are equal. */
function spreadText({ median, low, high }: Spread): string {
  const [middle, from, to] = [median, low, high].map(numberText)
  return from === to ? `${middle}` : `${middle} (${from}–${to})`
}

/** Three digits. */
export function numberText(value: number): string {
  const places = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en', {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
  })
}
