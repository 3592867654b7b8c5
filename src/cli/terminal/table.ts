import truncatedWidth from 'fast-string-truncated-width'
import { escapeControls } from './output.ts'
import { colorsFor, columnsOf, type Terminal } from './terminal.ts'
import { formatRelative } from './times.ts'

/** One column of a table. */
export interface Column<Row> {
  /** Shown on a terminal only. */
  heading: string
  /** The value in a pipe: untruncated and stable across releases. */
  value(row: Row): string
  /** The value on a terminal, if it differs. */
  display?(row: Row): string
  /** Whether it may be cut on a narrow terminal. */
  truncate?: true
}

/** A column of times: exact in a pipe, relative to now on a terminal. */
export function timeColumn<Row>(
  heading: string,
  timeOf: (row: Row) => string | undefined,
  missing = '',
): Column<Row> {
  return {
    heading,
    value: (row) => timeOf(row) ?? '',
    display(row) {
      const time = timeOf(row)
      return time === undefined ? missing : formatRelative(time)
    },
  }
}

const gap = '  '
const minWidth = 6

/**
 * On a terminal: aligned under headings, cut to its width, without empty columns. In a pipe:
 * tab-separated values, untruncated, without headings.
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
  const widths = fitColumns(filled, width)
  const { bold } = colorsFor(terminal)
  const lines = [...Array(filled.length === 0 ? 0 : rows.length + 1).keys()].map((index) => {
    const line = filled.map(({ texts }) => texts[index] ?? '')
    return formatLine(line, widths, index === 0 ? bold : (text) => text)
  })
  return lines.join('')
}

/** Widths of the columns; the widest of those that may be cut shrinks first. */
function fitColumns(
  columns: readonly { texts: string[]; truncate?: true }[],
  width: number,
): number[] {
  const widths = columns.map(({ texts }) => Math.max(...texts.map(textWidth)))
  const total = widths.reduce((sum, each) => sum + each, gap.length * (widths.length - 1))
  for (let excess = total - width; excess > 0; excess -= 1) {
    const shrinkable = widths.map((each, index) => (columns[index]?.truncate === true ? each : 0))
    const widest = Math.max(...shrinkable)
    if (widest <= minWidth) break
    widths[shrinkable.indexOf(widest)] = widest - 1
  }
  return widths
}

function formatLine(
  cells: readonly string[],
  widths: readonly number[],
  style: (text: string) => string,
): string {
  const padded = cells.map((cell, index) => {
    const text = truncateText(cell, widths[index] ?? 0)
    const padding = index === cells.length - 1 ? 0 : (widths[index] ?? 0) - textWidth(text)
    return style(text) + ' '.repeat(Math.max(0, padding))
  })
  return `${padded.join(gap)}\n`
}

function textWidth(text: string): number {
  return truncatedWidth(text).width
}

function truncateText(text: string, width: number): string {
  const { index, truncated } = truncatedWidth(text, { limit: width, ellipsis: '…' })
  return truncated ? `${text.slice(0, index)}…` : text
}

/** Names and values, without those that are undefined: aligned on a terminal, tab-separated in a pipe. */
export function formatMembers(
  terminal: Terminal,
  members: readonly [string, string | undefined][],
): string {
  const present = members.filter(([, value]) => value !== undefined)
  if (columnsOf(terminal.stdout) === undefined) {
    return present.map(([name, value]) => `${name}\t${escapeControls(value ?? '')}\n`).join('')
  }
  const { bold } = colorsFor(terminal)
  const widest = Math.max(...present.map(([name]) => name.length))
  const line = ([name, value]: [string, string | undefined]) =>
    `${bold(name.padEnd(widest))}${gap}${escapeControls(value ?? '')}\n`
  return present.map(line).join('')
}
