import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const pages = globSync(
  ['{.,packages/*,docs,docs/workloads,bench/results}/*.md', 'examples/**/*.md'],
  {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  },
)

/** The anchors that GitHub derives from the headings of a page. */
function anchorsOf(file: string): string[] {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test.each(pages)('every link of %s has a target', (page) => {
  const text = readFileSync(join(root, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
  const links = [...text.matchAll(/(?:\]\(|src(?:set)?=")([^)"\s]+)/g)].map(([, link = '']) => link)
  for (const link of links.filter((each) => !/^[a-z]+:/.test(each))) {
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? join(root, page) : join(root, dirname(page), path)
    expect(existsSync(file), link).toBe(true)
    if (anchor !== undefined) expect(anchorsOf(file), relative(root, file)).toContain(anchor)
  }
})

test('every picture is shown on a page', () => {
  const texts = pages.map((page) => readFileSync(join(root, page), 'utf8')).join('\n')
  const pictures = globSync('docs/{images/*,*.svg}', { cwd: root })
  expect(pictures.length).toBeGreaterThan(0)
  expect(pictures.filter((name) => !texts.includes(name.replace('docs/', '')))).toEqual([])
})
