import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Example } from './catalog.ts'

const page = join(import.meta.dirname, '../../docs/verifiers.md')

/** What an example did, or which commands the machine lacks. */
export type Outcome = { example: Example; missing: string[] } | Run

export interface Run {
  example: Example
  versions: string[]
  /** Whether the good token was accepted. */
  good: boolean
  /** Of the bad tokens: those that it was asked about, and those that it took. */
  bad: { asked: string[]; taken: string[] }
  /** Milliseconds until a new process rejected a token of the deactivated key. */
  fresh: number
  /** The same for the process that had accepted it before, if it was watched. */
  running: number | undefined
}

export function isGood({ good, bad, fresh, running = 0 }: Run): boolean {
  return good && bad.taken.length === 0 && Number.isFinite(fresh + running)
}

/** The outcomes as a Markdown table. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const head = [
    'verifier',
    'versions',
    'good token',
    'bad tokens',
    'deactivated key, new process',
    'deactivated key, running process',
  ]
  const rows = outcomes.map((one) => ('missing' in one ? notRun(one) : cellsOf(one)))
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

function linkTo({ name, folder }: Example): string {
  return `[${name}](../examples/verifiers/${folder})`
}

function notRun({ example, missing }: { example: Example; missing: string[] }): string[] {
  const reason = `not run: this machine has no ${missing.join(', ')}`
  return [linkTo(example), reason, '', '', '', example.keeps]
}

function cellsOf({ example, versions, good, bad, fresh, running }: Run): string[] {
  const rejected = `${bad.asked.length - bad.taken.length} of ${bad.asked.length} rejected`
  return [
    linkTo(example),
    versions.join(', '),
    good ? 'accepted' : '**rejected**',
    bad.taken.length === 0 ? rejected : `${rejected}, **not** ${bad.taken.join(', ')}`,
    verdict(fresh),
    running === undefined ? example.keeps : `${verdict(running)}; ${example.keeps}`,
  ]
}

function verdict(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return '**accepted**'
  return `rejected after ${Math.ceil(milliseconds)} ms`
}

/** Puts the table between the marks of the page. */
export function writePage(outcomes: readonly Outcome[]): void {
  const text = readFileSync(page, 'utf8')
  const marks = /(<!-- table: .*? -->\n)[\s\S]*?(<!-- end of table -->)/
  if (!marks.test(text)) throw new Error('docs/verifiers.md has lost the marks of its table.')
  writeFileSync(
    page,
    text.replace(marks, (_, begin, end) => `${begin}\n${tableOf(outcomes)}\n${end}`),
  )
}
