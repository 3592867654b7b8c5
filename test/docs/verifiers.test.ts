import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { examples } from '../../scripts/examples/catalog.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rows = read('docs/verifiers.md').split('\n')
const folders = examples.map(({ folder }) => folder)

test('every folder of examples/verifiers is run by npm run examples', () => {
  const there = readdirSync(join(root, 'examples/verifiers'), { withFileTypes: true })
  const names = there.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  expect(names.toSorted()).toEqual(folders.toSorted())
})

test.each(folders)(
  'the last run of %s accepted the good token and rejected the others',
  (folder) => {
    const [row = '', ...more] = rows.filter((line) => line.includes(`/verifiers/${folder})`))
    expect(more.filter((line) => line.startsWith('|'))).toEqual([])
    expect(row).toMatch(/ \| accepted \| (\d+) of \1 rejected \| rejected after \d+ ms \| /)
  },
)

test.each(examples)('the README of the examples shows how to build $folder', (example) => {
  const { folder, build = '' } = example
  const row = read('examples/verifiers/README.md')
    .split('\n')
    .find((line) => line.startsWith(`| [${folder}](`))
  expect(row).toContain(build)
})

test.each(
  globSync('examples/verifiers/**/{package.json,requirements.txt,Cargo.toml,pom.xml}', {
    cwd: root,
    exclude: (name) => /node_modules|target|\.venv/.test(name),
  }),
)('%s pins exact versions', (manifest) => {
  const versions = [...read(manifest).matchAll(/(["'=>~^ ]+)(\d+\.\d+[\w.]*)/g)]
  expect(versions.length).toBeGreaterThan(0)
  expect(versions.filter(([, before = '']) => /[~^]|>=/.test(before))).toEqual([])
})
