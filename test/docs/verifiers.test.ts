import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { examples } from '../../scripts/examples/catalog.ts'
import { isSame, pageTable, readRows } from '../../scripts/examples/report.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rows = readRows()
const folders = examples.map(({ folder }) => folder)

test('every folder of examples/verifiers is run by npm run examples', () => {
  const there = readdirSync(join(root, 'examples/verifiers'), { withFileTypes: true })
  const names = there.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  expect(names.toSorted()).toEqual(folders.toSorted())
})

const variants = examples.flatMap(({ folder, run, followed }) => [
  ...(run === undefined ? [] : [{ folder, isFollowed: false }]),
  ...(followed === undefined ? [] : [{ folder, isFollowed: true }]),
])

test.each(variants)(
  'the last run of $folder (follower: $isFollowed) took no bad token, refused no good one, and saw all keys',
  (variant) => {
    const row = rows.find((one) => isSame(one, variant))
    if (row === undefined || 'missing' in row) throw new Error('it was not run')
    if ('failure' in row.result) throw new Error(row.result.failure)
    const { bad, broken, newKey } = row.result.measured
    expect({ asked: bad.asked.length, taken: bad.taken, broken }).toEqual({
      asked: 13,
      taken: [],
      broken: [],
    })
    // jwx fetches at most every 15 minutes, longer than it is watched.
    if (variant.folder !== 'go-jwx' || variant.isFollowed) expect(newKey).not.toBeNull()
  },
)

test('with the follower, verifiers refuse a deactivated key within two seconds, the last one too', () => {
  const slow = rows.filter((row) => {
    if (!row.isFollowed || 'missing' in row || 'failure' in row.result) return row.isFollowed
    const { oneOff, lastOff } = row.result.measured
    return (oneOff ?? Number.POSITIVE_INFINITY) > 2 || (lastOff ?? Number.POSITIVE_INFINITY) > 2
  })
  expect(slow.map(({ folder }) => folder)).toEqual([])
})

test('the table is that of the last run', () => {
  expect(read('docs/verifiers.md')).toContain(pageTable(rows))
})

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
