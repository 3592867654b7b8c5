import { colorsFor, escapeControls, type Terminal, tableWidth } from './terminal.ts'
import { cutMiddle, textWidth, wrapWords } from './text.ts'
import { formatRelative } from './times.ts'

export interface Column<Row> {
  /** Shown on a terminal only. */
  heading: string
  /** The value in a pipe: untruncated and stable across releases. */
  value(row: Row): string
  /** The value on a terminal, if it differs. */
  display?(row: Row): string
  /** Whether its middle may be left out on a narrow terminal. */
  cut?: true
  /** Whether a terminal shows it below the others if they do not fit beside each other. */
  below?: true
  /** Whether it is an id, of which a terminal shows the end. */
  id?: true
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

/** Widths below which the columns that may be cut, and all others but ids, do not shrink. */
const minWidths = { cut: 6, other: 3 }

const minIdLength = 6

/**
 * On a terminal: aligned under headings, at most as wide, without empty columns, with as much of the
 * end of ids as tells all of them and `otherIds` apart. In a pipe: tab-separated values, whole, without
 * headings.
 */
export function formatTable<Row>(
  terminal: Terminal,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  otherIds: readonly string[] = [],
): string {
  const width = tableWidth(terminal)
  if (width === undefined) {
    return rows
      .map((row) => `${columns.map(({ value }) => escapeControls(value(row))).join('\t')}\n`)
      .join('')
  }
  const ids = columns.flatMap(({ id, value }) => (id ? rows.map(value) : []))
  const idLength = uniqueLength([...ids, ...otherIds])
  const cells = columns
    .map((column) => {
      const { heading, value, display = value, id = false, cut = false, below = false } = column
      const start = id ? -idLength : 0
      const texts = rows.map((row) => escapeControls(display(row)).slice(start))
      return { id, cut, below, texts: [heading, ...texts] }
    })
    .filter(({ texts }) => texts.slice(1).some((text) => text !== ''))
  const fits = fitColumns(cells, Number.POSITIVE_INFINITY).reduce(addWidth, 0) <= width
  const beside = cells.filter(({ below }) => fits || !below)
  const below = cells.filter((column) => !beside.includes(column))
  const widths = fitColumns(beside, width)
  const { bold } = colorsFor(terminal)
  const lines = [...Array(cells.length === 0 ? 0 : rows.length + 1).keys()].flatMap((index) => {
    const line = beside.map(({ texts }) => texts[index] ?? '')
    const rest = index === 0 ? [] : below.map(({ texts }) => texts[index] ?? '')
    return [
      formatLine(line, widths, index === 0 ? bold : (text) => text),
      ...rest.filter(Boolean).map((text) => `${gap}${wrapWords(text, width, gap)}\n`),
    ]
  })
  return lines.join('')
}

const addWidth = (sum: number, width: number) => sum + (sum > 0 ? gap.length : 0) + width

/** The length at which the ends of all different ids differ, at least 6. */
export function uniqueLength(ids: readonly string[]): number {
  const sorted = [...new Set(ids)].map((id) => [...id].reverse().join('')).sort()
  const lengths = sorted.slice(1).map((id, index) => {
    const before = sorted[index] ?? ''
    const shared = [...id].findIndex((character, at) => character !== before[at])
    return shared < 0 ? id.length : shared + 1
  })
  return Math.max(minIdLength, ...lengths)
}

/** Widths of the columns; the widest of those that may be cut shrinks first, then others, ids never. */
function fitColumns(
  columns: readonly { texts: string[]; id: boolean; cut: boolean }[],
  width: number,
): number[] {
  const widths = columns.map(({ texts }) => Math.max(...texts.map(textWidth)))
  let excess = widths.reduce(addWidth, 0) - width
  for (const [kind, min] of Object.entries(minWidths)) {
    for (; excess > 0; excess -= 1) {
      const shrinkable = widths.map((each, index) =>
        columns[index]?.cut || (kind === 'other' && !columns[index]?.id) ? each : 0,
      )
      const widest = Math.max(...shrinkable)
      if (widest <= min) break
      widths[shrinkable.indexOf(widest)] = widest - 1
    }
  }
  return widths
}

function formatLine(
  cells: readonly string[],
  widths: readonly number[],
  style: (text: string) => string,
): string {
  const padded = cells.map((cell, index) => {
    const text = cutMiddle(cell, widths[index] ?? 0)
    const padding = index === cells.length - 1 ? 0 : (widths[index] ?? 0) - textWidth(text)
    return style(text) + ' '.repeat(Math.max(0, padding))
  })
  return `${padded.join(gap).trimEnd()}\n`
}

const isoTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/**
 * The members of a record, by their names in the API: aligned on a terminal, where times have their
 * distance from now, and tab-separated in a pipe. Objects as JSON.
 */
export function formatMembers(terminal: Terminal, record: object): string {
  const isInPipe = tableWidth(terminal) === undefined
  const { bold } = colorsFor(terminal)
  const widest = Math.max(...Object.keys(record).map((name) => name.length))
  const lines = Object.entries(record).map(([name, value]) => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    const distance = isInPipe || !isoTime.test(text) ? '' : ` (${formatRelative(text)})`
    const start = isInPipe ? `${name}\t` : `${bold(name.padEnd(widest))}${gap}`
    return `${start}${escapeControls(text)}${distance}\n`
  })
  return lines.join('')
}

/** One line of a check. */
export interface Step {
  step: string
  outcome: 'passed' | 'failed' | 'warned' | 'skipped'
  detail: string
}

/** One line for each step, aligned. */
export function formatSteps(terminal: Terminal, steps: readonly Step[], indent = ''): string {
  const { green, red, yellow, dim } = colorsFor(terminal)
  const outcomes: Record<Step['outcome'], string> = {
    passed: green('ok     '),
    failed: red('FAILED '),
    warned: yellow('warning'),
    skipped: dim('skipped'),
  }
  const widest = Math.max(...steps.map(({ step }) => step.length))
  const line = ({ step, outcome, detail }: Step) =>
    `${indent}${outcomes[outcome]}  ${step.padEnd(widest)}  ${escapeControls(detail)}\n`
  return steps.map(line).join('')
}
