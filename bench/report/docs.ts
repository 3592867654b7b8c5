/**
 * Writes the chart and the tables of docs/performance.md and bench/results/README.md from the
 * results in bench/results, and the model in docs/scaling.md and bench/results/README.md.
 *
 *   npm run bench:docs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { renderChart } from './chart.ts'
import type { Figure } from './figures.ts'
import { eachText, sizesText } from './model.ts'
import { loadResults, type Results } from './results.ts'
import { summaryText } from './summary.ts'
import { resultsText } from './table.ts'

const root = new URL('../../', import.meta.url)
const pages = ['docs/performance.md', 'docs/scaling.md', 'bench/results/README.md']
const chart = 'docs/performance.svg'

/** The generated files by path, from their present text; tables without results stay as they are. */
export function renderDocs(read: (path: string) => string): Record<string, string> {
  const rendered = pages.map((page) => [page, renderTables(read(page))])
  const reads = loadResults('reads')
  if (reads !== undefined) rendered.push([chart, renderChart(reads.reads)])
  return Object.fromEntries(rendered)
}

function renderTables(page: string): string {
  const marker = /(<!-- (results|summary|model): (.+) -->\n)[\s\S]*?(<!-- end of \2 -->)/g
  return page.replace(marker, (whole, begin: string, kind: string, names: string, end: string) => {
    const text = kind === 'model' ? modelText(names) : tablesText(kind, names.split(', '))
    return text === '' ? whole : `${begin}\n${text}\n\n${end}`
  })
}

function tablesText(kind: string, names: string[]): string {
  const results = names.flatMap(selectedResults)
  if (results.length === 0) return ''
  return kind === 'summary' ? summaryText(results) : results.map(resultsText).join('\n\n')
}

/** The results of this name, or with `NAME/FIGURE` those of its figures that begin so. */
function selectedResults(name: string): Results[] {
  const [file = '', beginning = ''] = name.split('/')
  const results = loadResults(file)
  if (results === undefined) return []
  const isSelected = (figure: Figure) => figure.name.startsWith(beginning)
  return [{ ...results, figures: results.figures.filter(isSelected) }]
}

function modelText(name: string): string {
  const [model, reads] = [loadResults('model'), loadResults('reads')]
  if (model === undefined || reads === undefined) return ''
  return name === 'sizes' ? sizesText(model, reads) : eachText(model, reads)
}

if (import.meta.main) writeDocs()

/** Brings the generated files up to date with the results, which a test compares. */
export function writeDocs(): void {
  const rendered = renderDocs((path) => readFileSync(new URL(path, root), 'utf8'))
  for (const [path, text] of Object.entries(rendered)) writeFileSync(new URL(path, root), text)
}
