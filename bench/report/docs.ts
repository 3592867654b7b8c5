/**
 * Writes the chart and the tables of docs/performance.md and bench/results/README.md from the
 * results in bench/results.
 *
 *   npm run bench:docs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { renderChart } from './chart.ts'
import { loadResults } from './results.ts'
import { summaryText } from './summary.ts'
import { resultsText } from './table.ts'

const root = new URL('../../', import.meta.url)
const pages = ['docs/performance.md', 'bench/results/README.md']
const chart = 'docs/performance.svg'

/** The generated files by path, from their present text; tables without results stay as they are. */
export function renderDocs(read: (path: string) => string): Record<string, string> {
  const rendered = pages.map((page) => [page, renderTables(read(page))])
  const reads = loadResults('reads')
  if (reads !== undefined) rendered.push([chart, renderChart(reads.reads)])
  return Object.fromEntries(rendered)
}

function renderTables(page: string): string {
  const marker = /(<!-- (results|summary): (.+) -->\n)[\s\S]*?(<!-- end of \2 -->)/g
  return page.replace(marker, (whole, begin: string, kind: string, names: string, end: string) => {
    const results = names.split(', ').flatMap((name) => loadResults(name) ?? [])
    if (results.length === 0) return whole
    const text = kind === 'summary' ? summaryText(results) : results.map(resultsText).join('\n\n')
    return `${begin}\n${text}\n\n${end}`
  })
}

if (import.meta.main) {
  const rendered = renderDocs((path) => readFileSync(new URL(path, root), 'utf8'))
  for (const [path, text] of Object.entries(rendered)) writeFileSync(new URL(path, root), text)
}
