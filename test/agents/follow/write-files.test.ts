import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formats } from '../../../packages/agents/src/follow/formats.ts'
import { writeFiles } from '../../../packages/agents/src/follow/write-files.ts'
import { jwkOf, publishedKeys } from '../../support/keys/published.ts'

let folder: string
let out: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pubring-'))
  out = join(folder, 'out')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function writerOf(name: string) {
  const format = formats[name]
  if (format === undefined) throw new Error(`no format ${name}`)
  const options = { format, out, projectCount: 1, template: '', algorithms: [] }
  return (...kids: string[]) => writeFiles(options, [publishedKeys(kids.map((kid) => jwkOf(kid)))])
}

const pems = (path = out) => readdirSync(path).filter((name) => name.endsWith('.pem'))

test('a file is replaced only if its content changes', async () => {
  const write = writerOf('jwks')
  expect(await write('a')).toBe(true)
  const { ino } = statSync(out)
  expect(await write('a')).toBe(false)
  expect(statSync(out).ino).toBe(ino)
  expect(await write('b')).toBe(true)
  expect(statSync(out).ino).not.toBe(ino)
  expect(JSON.parse(readFileSync(out, 'utf8')).keys[0].kid).toBe('b')
  expect(readdirSync(folder)).toEqual(['out'])
})

test('a file that was changed or removed is written again', async () => {
  const write = writerOf('jwks')
  await write('a')
  writeFileSync(out, 'torn')
  expect(await write('a')).toBe(true)
  rmSync(out)
  expect(await write('a')).toBe(true)
  expect(JSON.parse(readFileSync(out, 'utf8')).keys[0].kid).toBe('a')
})

test('the files of keys that are gone are removed, also by a later process, and no others', async () => {
  await writerOf('pem-dir')('a', 'b')
  writeFileSync(join(out, 'mine.pem'), 'not ours')
  expect(pems()).toEqual(['a.pem', 'b.pem', 'mine.pem'])
  expect(await writerOf('pem-dir')('b', 'c')).toBe(true)
  expect(pems()).toEqual(['b.pem', 'c.pem', 'mine.pem'])
  expect(await writerOf('pem-dir')()).toBe(true)
  expect(pems()).toEqual(['mine.pem'])
})

test('HAProxy’s configuration never names a file that is missing', async () => {
  const write = writerOf('haproxy')
  for (const kids of [['a'], ['a', 'b'], ['b'], []]) {
    await write(...kids)
    const names = [...readFileSync(out, 'utf8').matchAll(/"([^"]+\.pem)"/g)]
    expect(names.map(([, path = '']) => existsSync(path))).toEqual(kids.map(() => true))
    expect(pems(`${out}.d`)).toEqual(kids.map((kid) => `${kid}.pem`))
  }
})

test('a hostile manifest removes nothing outside its folder', async () => {
  const write = writerOf('pem-dir')
  await write('a')
  const outside = join(folder, 'outside.pem')
  writeFileSync(outside, 'kept')
  writeFileSync(join(out, '.pubring-follow.json'), '["../outside.pem", "/etc/hosts.pem/..", 7]')
  await write('b')
  expect(readFileSync(outside, 'utf8')).toBe('kept')
})

test('a folder that cannot be written is an error, and the next attempt succeeds', async () => {
  const write = writerOf('jwks')
  // A file in the place of the folder.
  out = join(folder, 'missing', 'out')
  const later = writerOf('jwks')
  writeFileSync(join(folder, 'missing'), '')
  await expect(later('a')).rejects.toThrow(/ENOTDIR|EEXIST/)
  rmSync(join(folder, 'missing'))
  expect(await later('a')).toBe(true)
  expect(await write('a')).toBe(true)
})
