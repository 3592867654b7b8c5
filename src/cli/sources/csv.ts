import type { JwtKey } from '../../../client/src/index.ts'
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

/** Whether the text is such a table: its headings tell. */
export function isCsv(text: string): boolean {
  const [first = ''] = text.replace(/^\uFEFF/, '').split(/\r?\n/, 1)
  return /^"?project"?[,;]/.test(first) && first.includes('publicKey')
}

/** The keys of a CSV export, project by project. Spreadsheets may have written it with semicolons. */
export function readCsv(text: string, name: string): SourceProject[] {
  const [headings = [], ...lines] = parse(text.replace(/^\uFEFF/, ''))
  const rows = lines.map((line, index) => {
    const cells = Object.fromEntries(line.map((value, at) => [headings[at] ?? '', restored(value)]))
    return { project: cells.project ?? '', entry: entryOf(cells, `${name}, row ${index + 2}`) }
  })
  const groups = Map.groupBy(rows, ({ project }) => project)
  return [...groups].map(([project, group]) => ({
    name: project,
    entries: group.map(({ entry }) => entry),
  }))
}

function entryOf(cells: Record<string, string>, place: string): SourceEntry {
  const { label = '', active = '', publicKey = '' } = cells
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
function parse(text: string): string[][] {
  const separator = /^[^\r\n]*?[,;]/.exec(text)?.[0].at(-1) ?? ','
  const pattern = new RegExp(
    `("(?:[^"]|"")*"|[^"${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`,
    'gy',
  )
  const rows: string[][] = []
  let row: string[] = []
  for (const [whole, value = '', ending] of text.matchAll(pattern)) {
    if (whole === '') break
    row.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value)
    if (ending === separator) continue
    if (row.some((each) => each !== '')) rows.push(row)
    row = []
  }
  return rows
}
