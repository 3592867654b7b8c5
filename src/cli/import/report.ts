import type { Session } from '../connection/session.ts'
import { notify } from '../terminal/output.ts'
import { type Column, formatTable } from '../terminal/table.ts'
import { columnsOf } from '../terminal/terminal.ts'
import type { ImportRow } from './rows.ts'

/** Rows that a terminal shows whole; of more only the refused ones. */
const mostShown = 100

export interface ImportCounts {
  created: number
  present: number
  refused: number
  notSent: number
}

export function countRows(rows: readonly ImportRow[]): ImportCounts {
  const count = (wanted: ImportRow['outcome']) =>
    rows.filter(({ outcome }) => outcome === wanted).length
  return {
    created: count('created'),
    present: count('present'),
    refused: count('refused'),
    notSent: count('not_sent'),
  }
}

/** Tells what became of every key: as JSON, in a pipe, or as a table on a terminal. */
export function printImport(session: Session, rows: readonly ImportRow[], dryRun: boolean): void {
  const counts = countRows(rows)
  const document = { dryRun, ...counts, items: rows.map(itemOf) }
  session.print(document, () => formatTable(session.terminal, columns, shown(session, rows)))
  for (const { place, note, outcome } of rows) {
    if (note !== undefined && outcome === 'created') session.notify(`${place}: ${note}`)
  }
  const { created, present, refused, notSent } = counts
  const would = dryRun ? 'would be ' : ''
  const left = notSent === 0 ? '' : `, ${notSent} not imported`
  const line = `${created} ${would}registered, ${present} already there, ${refused} refused${left}.`
  notify(session.terminal, line)
}

function itemOf({ number, project, place, label, outcome, kid, errors, note }: ImportRow) {
  return {
    number,
    project,
    place,
    label,
    outcome,
    ...(kid === undefined ? {} : { kid }),
    ...(errors.length === 0 ? {} : { errors }),
    ...(note === undefined ? {} : { note }),
  }
}

function shown({ terminal }: Session, rows: readonly ImportRow[]): readonly ImportRow[] {
  const isWhole = columnsOf(terminal.stdout) === undefined || rows.length <= mostShown
  return isWhole ? rows : rows.filter(({ outcome }) => outcome === 'refused')
}

const columns: readonly Column<ImportRow>[] = [
  { heading: '#', value: ({ number }) => String(number) },
  { heading: 'OUTCOME', value: ({ outcome }) => outcome },
  { heading: 'KID', value: ({ kid = '' }) => kid },
  { heading: 'NAME', value: ({ label }) => label, truncate: true },
  { heading: 'PLACE', value: ({ place }) => place, truncate: true },
  {
    heading: 'CAUSE',
    value: ({ errors }) => errors.map(({ code, detail }) => `${code}: ${detail}`).join(' '),
    truncate: true,
  },
]
