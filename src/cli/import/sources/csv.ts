import { CsvError, parse } from 'csv-parse/sync'
import { distance } from 'fastest-levenshtein'
import { nearest } from '../../../nearest.ts'
import { csvLine, unescapeFormula } from '../../../runtime/csv.ts'
import { fileError } from '../../terminal/failures.ts'
import { recordEntry, type Source, type SourceEntry, type SourceProject, stem } from './entry.ts'
import type { ExportedKey, ExportedProject } from './export-document.ts'

/** The columns of an export, in order; `publicKey` is the SPKI in base64. */
const columns = [
  'project',
  'projectId',
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

/** Other headings of tables that people have, in lower case without separators. */
const synonyms: Readonly<Record<string, Column>> = {
  id: 'kid',
  keyid: 'kid',
  name: 'label',
  alg: 'algorithm',
  created: 'createTime',
  updated: 'updateTime',
  expires: 'expireTime',
  key: 'publicKey',
  pem: 'publicKey',
  publickeypem: 'publicKey',
}

/** The headings of an export; lines end with CRLF. */
export const csvHeadings = csvLine(columns)

/** The keys of a project as lines of CSV. */
export function writeCsv({ id, name, keys }: ExportedProject): string {
  const records = keys.map((key) => recordOf({ project: name, projectId: id }, key))
  return records.map((record) => csvLine(columns.map((column) => record[column]))).join('')
}

function recordOf(
  project: Record<'project' | 'projectId', string>,
  key: ExportedKey,
): Record<Column, string> {
  const publicKey = key.publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
  const { id: kid, publishedKid = '', label, algorithm, createTime, updateTime } = key
  const { expireTime = '' } = key
  const active = String(key.active)
  const texts = { kid, publishedKid, label, algorithm, active, createTime, updateTime, expireTime }
  return { ...project, ...texts, publicKey }
}

/** Whether the first line has the headings of such a table. */
export function isCsv(text: string): boolean {
  const [first = ''] = text.replace(/^\uFEFF/, '').split(/\r?\n/, 1)
  return (
    /[,;]/.test(first) &&
    /(?:^|[,;])"?(?:public[ _-]?key(?:[ _-]?pem)?|pem)"?(?:[,;]|$)/i.test(first)
  )
}

/**
 * The keys of a table, whose headings may be misspelled, and which a spreadsheet may have saved with
 * semicolons. Throws if it is no table or a heading is none of a key.
 */
export function readCsv(text: string, name: string): Source {
  const [first = [], ...lines] = parseRows(text, name)
  const exact = first.map(exactColumn)
  const headings = first.map((heading, index) => exact[index] ?? nearColumn(heading, exact, name))
  const notes = first.flatMap((heading, index) => {
    return exact[index] === undefined
      ? [`${name}: read column ${heading} as ${headings[index]}.`]
      : []
  })
  if (!headings.includes('publicKey')) throw fileError(`${name} lacks the column publicKey.`)
  const double = headings.find((heading, index) => headings.indexOf(heading) !== index)
  if (double !== undefined) throw fileError(`${name} has the column ${double} twice.`)
  const projects = new Map<string, SourceProject>()
  let project: string | undefined
  const entries = lines.map((line, index) => {
    const place = `${name}, row ${index + 2}`
    const cells = line.map((value, at) => [headings[at] ?? '', unescapeFormula(value)])
    const record: Record<string, string> = Object.fromEntries(cells)
    if (line.length === headings.length) project = record.project
    const usual = `${stem(name)} ${index + 1}`
    const entry = entryOf({ label: usual, ...record }, place, line.length - headings.length)
    if (project === undefined) return entry
    const { projectId: id } = record
    projects.set(project, { ...projects.get(project), name: project, ...(id ? { id } : {}) })
    return { ...entry, project }
  })
  return { entries, projects: [...projects.values()], notes }
}

function fold(heading: string): string {
  return heading.toLowerCase().replace(/[\s_-]/g, '')
}

function exactColumn(heading: string): Column | undefined {
  const folded = fold(heading)
  return columns.find((column) => column.toLowerCase() === folded) ?? synonyms[folded]
}

/**
 * The column that the heading misspells. Never a column of the state of a key: a wrong guess would
 * have verifiers trust a key that the table has as inactive or expired.
 */
function nearColumn(heading: string, taken: readonly unknown[], name: string): Column {
  const folded = fold(heading)
  if (/^(?:inactive|disabled|revoked)$/.test(folded)) {
    throw fileError(
      `${name} has the column ${heading}, which has no equivalent.`,
      'Replace it with a column active, which is true for the keys that verifiers may trust.',
    )
  }
  const others = columns.filter((each) => !/^active|Time$/.test(each) && !taken.includes(each))
  const column = nearest(folded, others)
  if (column !== undefined) {
    const mistakes = distance(folded, column.toLowerCase())
    if (mistakes <= 2 && mistakes * 3 < Math.min(folded.length, column.length)) return column
  }
  throw fileError(
    `${name} has an unknown column: ${heading}.`,
    `Columns of keys are ${columns.join(', ')}.`,
  )
}

/** `surplus`: how many more cells than headings the row has. */
function entryOf(
  record: { label: string; [column: string]: string },
  place: string,
  surplus: number,
): SourceEntry {
  const { label, active = 'true', publicKey = '' } = record
  const invalid = (detail: string) => ({ place, label, rejection: { code: 'invalid_row', detail } })
  if (surplus !== 0) {
    const difference = `${Math.abs(surplus)} cells ${surplus > 0 ? 'more' : 'fewer'}`
    return invalid(`The row has ${difference} than there are headings.`)
  }
  if (!/^(true|false)$/i.test(active)) return invalid('The cell active must be true or false.')
  const body = publicKey.match(/.{1,64}/g)?.join('\n') ?? ''
  const publicKeyPem = publicKey.includes('-----BEGIN')
    ? publicKey
    : `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`
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
