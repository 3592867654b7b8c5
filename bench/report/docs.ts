/**
 * Writes the tables and the chart of docs/performance.md from the results in bench/results.
 *
 *   npm run bench:docs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { renderChart } from './chart.ts'
import { loadResults } from './results.ts'
import { resultsText } from './table.ts'

const page = new URL('../../docs/performance.md', import.meta.url)
const chart = new URL('../../docs/performance.svg', import.meta.url)

/** The page with its tables rendered, and the chart; parts without results stay as they are. */
export function renderDocs(text: string): { page: string; chart: string | undefined } {
  const marker = /(<!-- results: (\S+) -->\n)[\s\S]*?(<!-- end of results -->)/g
  const rendered = text.replace(marker, (whole, begin: string, name: string, end: string) => {
    const results = loadResults(name)
    return results === undefined ? whole : `${begin}\n${resultsText(results)}\n\n${end}`
  })
  const reads = loadResults('reads')
  return { page: rendered, chart: reads && renderChart(reads.reads) }
}

if (import.meta.main) {
  const rendered = renderDocs(readFileSync(page, 'utf8'))
  writeFileSync(page, rendered.page)
  if (rendered.chart !== undefined) writeFileSync(chart, rendered.chart)
}
