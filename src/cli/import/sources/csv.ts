import { CsvError, parse } from 'csv-parse/sync'
import { csvLine, unescapeFormula } from '../../../runtime/csv.ts'
import { fileError, requireKnown } from '../../terminal/failures.ts'
import { recordEntry, type SourceEntry } from './entry.ts'
import type { ExportedKey } from './export-document.ts'

/** The columns of an export, in order; `publicKey` is the SPKI in base64. */
const columns = [
  'project',
  'kid',
  'publishedKid',
  'label',
  'algorithm',
  'active',
  'createTime',
  'updateTime',
  'expireTime',
  'publicKey',
] as const
type Column = (typeof columns)[number]

const requiredColumns: readonly Column[] = ['label', 'active', 'publicKey']

/** The keys of projects, by name, as CSV with a line of headings; lines end with CRLF. */
export function writeCsv(
  projects: readonly { name: string; keys: readonly ExportedKey[] }[],
): string {
  const records = projects.flatMap(({ name, keys }) => keys.map((key) => recordOf(name, key)))
  const lines = [columns, ...records.map((record) => columns.map((column) => record[column]))]
  return lines.map(csvLine).join('')
}

function recordOf(project: string, key: ExportedKey): Record<Column, string> {
  const publicKey = key.publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
  const { id: kid, publishedKid = '', label, algorithm, createTime, updateTime } = key
  const { expireTime = '' } = key
  const active = String(key.active)
  const texts = { kid, publishedKid, label, algorithm, active, createTime, updateTime, expireTime }
  return { project, ...texts, publicKey }
}

/** Whether the first line has the headings of such a table. */
export function isCsv(text: string): boolean {
  const [first = ''] = text.replace(/^\uFEFF/, '').split(/\r?\n/, 1)
  return /(?:^|[,;])"?publicKey"?(?:[,;]|$)/.test(first)
}

/**
 * The keys of a CSV export; a spreadsheet may have saved it with semicolons. Throws if
 * it is not a table or has unknown headings.
 */
export function readCsv(text: string, name: string): SourceEntry[] {
  const [headings = [], ...lines] = parseRows(text, name)
  requireHeadings(headings, name)
  let project: string | undefined
  return lines.map((line, index) => {
    const place = `${name}, row ${index + 2}`
    const cells = line.map((value, at) => [headings[at] ?? '', unescapeFormula(value)])
    const record: Record<string, string> = Object.fromEntries(cells)
    if (line.length === headings.length) project = record.project
    const entry = entryOf(record, place, line.length - headings.length)
    return project === undefined ? entry : { ...entry, project }
  })
}

function requireHeadings(headings: readonly string[], name: string): void {
  requireKnown(headings, columns, `${name} has an unknown column`)
  const missing = requiredColumns.filter((column) => !headings.includes(column))
  if (missing.length > 0) throw fileError(`${name} lacks the columns ${missing.join(', ')}.`)
}

/** `surplus`: how many more cells than headings the row has. */
function entryOf(record: Record<string, string>, place: string, surplus: number): SourceEntry {
  const { label = '', active = '', publicKey = '' } = record
  const invalid = (detail: string) => ({ place, label, rejection: { code: 'invalid_row', detail } })
  if (surplus !== 0) {
    const difference = `${Math.abs(surplus)} cells ${surplus > 0 ? 'more' : 'fewer'}`
    return invalid(`The row has ${difference} than there are headings.`)
  }
  if (!/^(true|false)$/i.test(active)) return invalid('The cell active must be true or false.')
  const body = publicKey.match(/.{1,64}/g)?.join('\n') ?? ''
  const publicKeyPem = `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`
  return recordEntry({ ...record, label, publicKeyPem, active: /true/i.test(active) }, place)
}

/** Rows of cells (RFC 4180, with commas or semicolons), without empty rows. */
function parseRows(text: string, name: string): string[][] {
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
    throw fileError(`${name} is not valid CSV${line}: a quotation mark is unbalanced.`)
  }
}
