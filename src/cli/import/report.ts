import type { Session } from '../connection/session.ts'
import { type Column, formatTable } from '../terminal/table.ts'
import { tableWidth } from '../terminal/terminal.ts'
import type { ImportRow } from './rows.ts'

/** A terminal shows only the rejected rows of a longer list. */
const maxRowsShown = 100

export function countRows(rows: readonly ImportRow[]) {
  const count = (outcome: ImportRow['outcome']) =>
    rows.filter((row) => row.outcome === outcome).length
  return {
    created: count('created'),
    present: count('present'),
    refused: count('refused'),
    notSent: count('not_sent'),
  }
}

/** Prints the outcome of every key: as JSON, as tab-separated values, or as a table. */
export function printImport(session: Session, rows: readonly ImportRow[], dryRun: boolean): void {
  const counts = countRows(rows)
  const document = { dryRun, ...counts, items: rows.map(itemOf) }
  session.print(document, () => formatTable(session.terminal, columns, visibleRows(session, rows)))
  for (const { place, note, outcome } of rows) {
    if (note !== undefined && outcome === 'created') session.notify(`${place}: ${note}`)
  }
  const { created, present, refused, notSent } = counts
  const would = dryRun ? 'would be ' : ''
  const rest = notSent === 0 ? '' : `, ${notSent} not imported`
  session.notify(
    `${created} ${would}registered, ${present} already registered, ${refused} rejected${rest}.`,
  )
}

function itemOf({ number, project, place, label, outcome, kid, errors, note }: ImportRow) {
  const row = { number, project, place, label, outcome, kid, note }
  return errors.length === 0 ? row : { ...row, errors }
}

function visibleRows({ terminal }: Session, rows: readonly ImportRow[]): readonly ImportRow[] {
  const isWhole = tableWidth(terminal) === undefined || rows.length <= maxRowsShown
  return isWhole ? rows : rows.filter(({ outcome }) => outcome === 'refused')
}

const columns: readonly Column<ImportRow>[] = [
  { heading: '#', value: ({ number }) => String(number) },
  { heading: 'OUTCOME', value: ({ outcome }) => outcome },
  { heading: 'KID', value: ({ kid = '' }) => kid, id: true },
  { heading: 'LABEL', value: ({ label }) => label, cut: true },
  { heading: 'PLACE', value: ({ place }) => place, cut: true },
  {
    heading: 'CAUSE',
    value: ({ errors }) => errors.map(({ code, detail }) => `${code}: ${detail}`).join(' '),
    cut: true,
  },
]
