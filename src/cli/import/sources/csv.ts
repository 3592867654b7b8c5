import { CsvError, parse } from 'csv-parse/sync'
import type { JwtKey } from '../../../../client/src/index.ts'
import { didYouMean } from '../../../nearest.ts'
import { usageError } from '../../terminal/failures.ts'
import { privateEntry, refusedEntry, type SourceEntry, type SourceProject } from './entry.ts'

/** The columns of an export, in order; `publicKey` is the SPKI in base64. */
const columns = [
  'project',
  'kid',
  'label',
  'algorithm',
  'active',
  'createTime',
  'updateTime',
  'expireTime',
  'publicKey',
] as const
type Column = (typeof columns)[number]

/**
 * What spreadsheets take for a formula, and the apostrophe that keeps them from it: with it in the
 * list, taking one apostrophe away restores every text.
 */
const formula = /^['=+\-@\t\r\n＝＋－＠]/u

/** A cell (RFC 4180): always quoted; one that would be a formula begins with an apostrophe. */
function cell(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

function restored(text: string): string {
  return text.startsWith("'") ? text.slice(1) : text
}

/** The keys of projects, by name, as CSV with a line of headings; line ends are CRLF. */
export function writeCsv(projects: readonly { name: string; keys: readonly JwtKey[] }[]): string {
  const rows = projects.flatMap(({ name, keys }) => keys.map((key) => rowOf(name, key)))
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))]
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('')
}

function rowOf(project: string, key: JwtKey): Record<Column, string> {
  const publicKey = key.publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
  const { id: kid, label, algorithm, createTime, updateTime, expireTime = '' } = key
  const active = String(key.active)
  return { project, kid, label, algorithm, active, createTime, updateTime, expireTime, publicKey }
}

/** Columns that a table needs to be read. */
const needed = ['label', 'active', 'publicKey'] as const satisfies readonly Column[]

/** Whether the text is such a table: its headings tell. */
export function isCsv(text: string): boolean {
  const [first = ''] = text.replace(/^\uFEFF/, '').split(/\r?\n/, 1)
  return /(?:^|[,;])"?publicKey"?(?:[,;]|$)/.test(first)
}

/**
 * The keys of a CSV export, project by project. Spreadsheets may have written it with semicolons.
 * Throws a usage error where it is no table, or its headings are not known.
 */
export function readCsv(text: string, name: string): SourceProject[] {
  const [headings = [], ...lines] = rowsOf(text, name)
  requireHeadings(headings, name)
  let project: string | undefined
  const rows = lines.map((line, index) => {
    const place = `${name}, row ${index + 2}`
    const cells = Object.fromEntries(line.map((value, at) => [headings[at] ?? '', restored(value)]))
    if (line.length === headings.length) project = cells.project
    return { project, entry: entryOf(cells, place, line.length - headings.length) }
  })
  const groups = Map.groupBy(rows, (row) => row.project)
  return [...groups].map(([named, group]) => ({
    ...(named === undefined ? {} : { name: named }),
    entries: group.map(({ entry }) => entry),
  }))
}

function requireHeadings(headings: readonly string[], name: string): void {
  const unknown = headings.find((heading) => !columns.some((column) => column === heading))
  if (unknown !== undefined) {
    const near = didYouMean(unknown, columns, `; known are ${columns.join(', ')}.`)
    throw usageError(`${name} has a column that is not known: ${unknown}${near}`)
  }
  const missing = needed.filter((column) => !headings.includes(column))
  if (missing.length > 0) throw usageError(`${name} lacks the columns ${missing.join(', ')}.`)
}

/** `surplus`: how many cells more than headings the row has. */
function entryOf(cells: Record<string, string>, place: string, surplus: number): SourceEntry {
  const { label = '', active = '', publicKey = '' } = cells
  if (surplus !== 0) {
    const detail = `The row has ${Math.abs(surplus)} cells ${surplus > 0 ? 'more' : 'fewer'} than there are headings.`
    return refusedEntry(place, label, { code: 'invalid_row', detail })
  }
  if (!/^(true|false)$/i.test(active)) {
    const detail = 'The cell active must be true or false.'
    return refusedEntry(place, label, { code: 'invalid_row', detail })
  }
  const body = publicKey.match(/.{1,64}/g)?.join('\n') ?? ''
  const publicKeyPem = `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`
  const secret = privateEntry(`${label}\n${publicKeyPem}`, place, '')
  if (secret !== undefined) return secret
  const names = ['kid', 'algorithm', 'createTime', 'updateTime', 'expireTime'] as const
  const given = names.filter((column) => (cells[column] ?? '') !== '')
  const others = Object.fromEntries(given.map((column) => [column, cells[column] ?? '']))
  return { place, label, key: { publicKeyPem, active: /true/i.test(active), ...others } }
}

/** RFC 4180, whose commas may be semicolons: rows of cells, empty rows left out. */
function rowsOf(text: string, name: string): string[][] {
  const delimiter = /^[^\r\n]*?[,;]/.exec(text)?.[0].at(-1) ?? ','
  try {
    return parse(text, {
      bom: true,
      delimiter,
      relaxColumnCount: true,
      skipRecordsWithEmptyValues: true,
    })
  } catch (error) {
    const line = error instanceof CsvError ? ` (line ${error.lines})` : ''
    throw usageError(`${name} is not valid CSV${line}: a quotation mark is open, or stands alone.`)
  }
}
