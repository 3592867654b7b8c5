import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderDocs } from '../../bench/report/docs.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the tables of the pages and the chart match bench/results', () => {
  const rendered = renderDocs(read)
  const paths = [
    'docs/performance.md',
    'docs/scaling.md',
    'bench/results/README.md',
    'docs/performance.svg',
  ]
  expect(Object.keys(rendered)).toEqual(paths)
  for (const path of paths) expect(rendered[path], path).toBe(read(path))
})
