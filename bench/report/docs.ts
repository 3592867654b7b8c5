/**
 * Writes the tables and the chart of docs/performance.md from the results in bench/results.
 *
 *   npm run bench:docs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { chartOf } from './chart.ts'
import { loadResults } from './results.ts'
import { resultsText } from './table.ts'

const page = new URL('../../docs/performance.md', import.meta.url)
const chart = new URL('../../docs/performance.svg', import.meta.url)

/** The page with each table made anew, and the chart; parts without results stay as they are. */
export function writtenDocs(text: string): { page: string; chart: string | undefined } {
  const place = /(<!-- results: (\S+) -->\n)[\s\S]*?(<!-- end of results -->)/g
  const filled = text.replace(place, (whole, begin: string, name: string, end: string) => {
    const results = loadResults(name)
    return results === undefined ? whole : `${begin}\n${resultsText(results)}\n\n${end}`
  })
  const reads = loadResults('reads')
  return { page: filled, chart: reads && chartOf(reads.reads) }
}

if (import.meta.main) {
  const written = writtenDocs(readFileSync(page, 'utf8'))
  writeFileSync(page, written.page)
  if (written.chart !== undefined) writeFileSync(chart, written.chart)
}
