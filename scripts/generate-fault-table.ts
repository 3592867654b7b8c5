/**
 * Writes the table of docs/faults.md from the results of the tests in test/faults. Rows of
 * tests that have not run stay as they are.
 *
 *   npm run test:long -- test/faults && npm run generate:faults
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import type { FaultResult } from '../test/support/faults/results.ts'

const page = new URL('../docs/faults.md', import.meta.url)
const begin =
  '<!-- faults: written by scripts/generate-fault-table.ts from the results of the tests -->\n'
const end = '<!-- end of faults -->'

const results = globSync('test-results/faults/*.json').map(
  (file): FaultResult => JSON.parse(readFileSync(file, 'utf8')),
)
if (results.length === 0) {
  throw new Error('There are no results: run the tests in test/faults first.')
}

const text = readFileSync(page, 'utf8')
const [before = '', rest = ''] = text.split(begin)
const [earlier = '', after = ''] = rest.split(end)
if (after === '') throw new Error('docs/faults.md has no markers for the table.')

const nameOf = (row: string) => row.split(' | ')[0] ?? ''
const rows = new Map(
  earlier
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| fault |'))
    .map((row) => [nameOf(row), row]),
)
for (const { fault, observed, acknowledged, lost } of results) {
  const losses = acknowledged === 0 ? '–' : `${lost}/${acknowledged.toLocaleString('en')}`
  const row = `| ${[fault, observed, losses].map(cellText).join(' | ')} |`
  rows.set(nameOf(row), row)
}

/** Escapes bars, and formats long numbers. */
function cellText(text: string): string {
  const formatted = (digits: string) => Number(digits).toLocaleString('en')
  return text.replaceAll('|', '\\|').replace(/\d{5,}/g, formatted)
}

const sorted = [...rows.values()].sort((a, b) => a.localeCompare(b))
const table = ['| fault | observed | lost |', '|---|---|---|', ...sorted]
writeFileSync(page, `${before}${begin}\n${table.join('\n')}\n\n${end}${after}`)
