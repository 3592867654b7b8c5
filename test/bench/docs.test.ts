import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderDocs } from '../../bench/report/docs.ts'

const file = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

test('the tables and the chart of docs/performance.md match bench/results', () => {
  const page = file('performance.md')
  const rendered = renderDocs(page)
  expect(rendered.page).toBe(page)
  expect(rendered.chart).toBe(file('performance.svg'))
})
