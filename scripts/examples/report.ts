import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { examples } from './catalog.ts'
import type { Result } from './measure.ts'
import { type Measurements, newAlgorithm, type Seconds } from './scenarios.ts'
import { algorithms } from './tokens.ts'

const page = join(import.meta.dirname, '../../docs/verifiers.md')

const results = join(import.meta.dirname, '../../examples/verifiers/results.json')

/** The result of an example, without or with a follower, or the commands that the machine lacks. */
export type Row = VariantName & ({ missing: string[] } | Measured)
export type MeasuredRow = VariantName & Measured

interface Measured {
  versions: string[]
  /** Day of the measurement, UTC. */
  date: string
  result: Result
  /** Seconds for which it was watched. */
  watched: number
}

/** Whether it took nothing that it had to refuse, and refused nothing that it had to take. */
export function isGood(row: Row): boolean {
  if ('missing' in row) return true
  if ('failure' in row.result) return false
  return row.result.measured.bad.taken.length === 0 && row.result.measured.broken.length === 0
}

interface VariantName {
  folder: string
  isFollowed: boolean
}

/** Whether both are about the same example in the same way. */
export function isSame(a: VariantName, b: VariantName): boolean {
  return a.folder === b.folder && a.isFollowed === b.isFollowed
}

/** Adds the rows to those of earlier runs, in the order of the catalog, and returns all. */
export function storeRows(rows: readonly Row[]): Row[] {
  const kept = readRows().filter((old) => !rows.some((row) => isSame(row, old)))
  const all = [...kept, ...rows]
  const sorted = examples.flatMap(({ folder }) =>
    [false, true].flatMap((isFollowed) => all.filter((row) => isSame(row, { folder, isFollowed }))),
  )
  writeFileSync(results, `${JSON.stringify(sorted, null, 2)}\n`)
  return sorted
}

/** The rows of the last runs. */
export function readRows(): Row[] {
  return existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : []
}

const head = [
  'verifier',
  'algorithms',
  'one of two keys off',
  'last key off',
  'new key',
  'new algorithm',
  'outage',
]

/** The rows as a Markdown table. */
export function tableOf(rows: readonly Row[]): string {
  return [head, head.map(() => '---'), ...rows.map(cellsOf)]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

/** The table of the page: a verifier with the follower only where it does not run without. */
export function pageTable(rows: readonly Row[]): string {
  const isAlone = ({ folder }: Row) => rows.filter((row) => row.folder === folder).length === 1
  return tableOf(rows.filter((row) => !row.isFollowed || isAlone(row)))
}

function cellsOf(row: Row): string[] {
  const empty = head.slice(2).map(() => '')
  const { name } = examples.find(({ folder }) => folder === row.folder) ?? { name: row.folder }
  const link = `[${name}](../examples/verifiers/${row.folder})`
  const first = row.isFollowed ? `${link}, **with the follower**` : link
  if ('missing' in row) {
    const reason = `not run: this machine has no ${row.missing.join(', ')}`
    return [first, reason, ...empty]
  }
  const { result, watched } = row
  if ('failure' in result) return [first, `**failed**: ${result.failure}`, ...empty]
  return [first, ...measuredCells(result.measured, watched)]
}

function measuredCells(measured: Measurements, watched: number): string[] {
  const { bad, broken, outage } = measured
  const seconds = (value: Seconds) => (value === null ? `> ${watched} s` : `${rounded(value)} s`)
  return [
    algorithmsText(measured.algorithms),
    seconds(measured.oneOff),
    seconds(measured.lastOff),
    seconds(measured.newKey),
    measured.algorithms.includes(newAlgorithm) ? seconds(measured.newAlgorithm) : 'not supported',
    seconds(outage),
    ...bad.taken.map((what) => `**took ${what}**`),
    ...broken.map((what) => `**refused ${what}**`),
  ]
}

/** The algorithms, or what is missing if that is only one. */
function algorithmsText(supported: readonly string[]): string {
  const missing = algorithms.filter((each) => !supported.includes(each))
  if (missing.length === 0) return 'all'
  return missing.length === 1 ? `not ${missing[0]}` : supported.join(' ')
}

function rounded(seconds: number): string {
  return seconds < 10 ? seconds.toFixed(1) : String(Math.round(seconds))
}

/** Puts the table between the marks of the page. */
export function writePage(rows: readonly Row[]): void {
  const text = readFileSync(page, 'utf8')
  const marks = /(<!-- table: .*? -->\n)[\s\S]*?(<!-- end of table -->)/
  if (!marks.test(text)) throw new Error('docs/verifiers.md has lost the marks of its table.')
  writeFileSync(
    page,
    text.replace(marks, (_, begin, end) => `${begin}\n${pageTable(rows)}\n${end}`),
  )
}
