import truncatedWidth from 'fast-string-truncated-width'
import { escapeControls } from './output.ts'
import { colorsFor, columnsOf, type Terminal } from './terminal.ts'

/** One column: on a terminal its heading is shown, and it gives way where the lines are too long. */
export interface Column<Row> {
  heading: string
  /** As it stands in a pipe: whole, and the same in every release. */
  value(row: Row): string
  /** On a terminal, where a person reads it otherwise. */
  display?(row: Row): string
  /** May be cut on a terminal. */
  truncate?: true
}

const gap = '  '
const leastWidth = 6

/**
 * Rows as a person reads them on a terminal: aligned, under headings, cut to its width, without
 * columns that are empty. In a pipe: values with tabs between them, whole, and without headings.
 */
export function formatTable<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): string {
  const width = columnsOf(terminal.stdout)
  if (width === undefined) {
    return rows
      .map((row) => `${columns.map(({ value }) => escapeControls(value(row))).join('\t')}\n`)
      .join('')
  }
  const cells = columns.map((column) => {
    const { heading, value, display = value } = column
    return { ...column, texts: [heading, ...rows.map((row) => escapeControls(display(row)))] }
  })
  const filled = cells.filter(({ texts }) => texts.slice(1).some((text) => text !== ''))
  const widths = widthsOf(filled, width)
  const { bold } = colorsFor(terminal.stdout, terminal.env)
  const lines = [...Array(filled.length === 0 ? 0 : rows.length + 1).keys()].map((at) => {
    const line = filled.map(({ texts }) => texts[at] ?? '')
    return lineOf(line, widths, at === 0 ? bold : (text) => text)
  })
  return lines.join('')
}

/** The widths of the columns; of those that may be cut the widest gives way first. */
function widthsOf(
  columns: readonly { texts: string[]; truncate?: true }[],
  width: number,
): number[] {
  const widths = columns.map(({ texts }) => Math.max(...texts.map(widthOfText)))
  const total = widths.reduce((sum, each) => sum + each, gap.length * (widths.length - 1))
  for (let excess = total - width; excess > 0; excess -= 1) {
    const cuttable = widths.map((each, at) => (columns[at]?.truncate === true ? each : 0))
    const widest = Math.max(...cuttable)
    if (widest <= leastWidth) break
    widths[cuttable.indexOf(widest)] = widest - 1
  }
  return widths
}

function lineOf(
  cells: readonly string[],
  widths: readonly number[],
  style: (text: string) => string,
): string {
  const padded = cells.map((cell, index) => {
    const text = cutText(cell, widths[index] ?? 0)
    const rest = index === cells.length - 1 ? 0 : (widths[index] ?? 0) - widthOfText(text)
    return style(text) + ' '.repeat(Math.max(0, rest))
  })
  return `${padded.join(gap)}\n`
}

function widthOfText(text: string): number {
  return truncatedWidth(text).width
}

function cutText(text: string, width: number): string {
  const { index, truncated } = truncatedWidth(text, { limit: width, ellipsis: '…' })
  return truncated ? `${text.slice(0, index)}…` : text
}

/** Members of one thing: aligned on a terminal, with a tab between name and value in a pipe. */
export function formatMembers(
  terminal: Terminal,
  members: readonly [string, string | undefined][],
): string {
  const given = members.filter(([, value]) => value !== undefined)
  if (columnsOf(terminal.stdout) === undefined) {
    return given.map(([name, value]) => `${name}\t${escapeControls(value ?? '')}\n`).join('')
  }
  const { bold } = colorsFor(terminal.stdout, terminal.env)
  const widest = Math.max(...given.map(([name]) => name.length))
  const line = ([name, value]: [string, string | undefined]) =>
    `${bold(name.padEnd(widest))}${gap}${escapeControls(value ?? '')}\n`
  return given.map(line).join('')
}
