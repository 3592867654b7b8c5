/**
 * Writes the table of faults in docs/operating.md from what the tests in test/faults saw.
 *
 *   npx vitest run test/faults && npm run test:long -- test/faults && npm run generate:faults
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import type { FaultResult } from '../test/support/faults/results.ts'

const page = new URL('../docs/operating.md', import.meta.url)
const begin =
  '<!-- faults: made by scripts/generate-fault-table.ts from the results of the tests -->\n'
const end = '<!-- end of faults -->'

const results = globSync('test-results/faults/*.json')
  .map((file): FaultResult => JSON.parse(readFileSync(file, 'utf8')))
  .sort((a, b) => a.fault.localeCompare(b.fault))
if (results.length === 0)
  throw new Error('There are no results: run the tests in test/faults first.')

const rows = results.map(({ fault, done, seen, acknowledged, lost }) => {
  const losses = acknowledged === 0 ? '–' : `${lost} of ${acknowledged.toLocaleString('en')}`
  return `| ${[fault, done, seen, losses].map((text) => readable(text)).join(' | ')} |`
})
/** Long numbers with commas, and no bar that would end the cell. */
function readable(text: string): string {
  const number = (digits: string) => Number(digits).toLocaleString('en')
  return text.replaceAll('|', '\\|').replace(/\d{5,}/g, number)
}

const table = ['| fault | what was done | what was seen | lost |', '|---|---|---|---|', ...rows]
const text = readFileSync(page, 'utf8')
const [before = '', rest = ''] = text.split(begin)
const [, after = ''] = rest.split(end)
if (after === '') throw new Error('docs/operating.md has no place for the table.')
writeFileSync(page, `${before}${begin}\n${table.join('\n')}\n\n${end}${after}`)
