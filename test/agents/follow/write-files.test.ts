import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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

function optionsOf(name: string) {
  const format = formats[name]
  if (format === undefined) throw new Error(`no format ${name}`)
  return { format, out, projectCount: 1, template: '', algorithms: [] }
}

function writerOf(name: string) {
  const options = optionsOf(name)
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

test('the files of several projects are removed with their keys', async () => {
  const options = { ...optionsOf('pem-dir'), projectCount: 2 }
  const write = (...projects: string[]) =>
    writeFiles(
      options,
      projects.map((project) => publishedKeys([jwkOf('k')], { project })),
    )
  await write('one', 'two')
  expect(pems(join(out, 'two'))).toEqual(['k.pem'])
  expect(await write('one')).toBe(true)
  expect([pems(join(out, 'one')), pems(join(out, 'two'))]).toEqual([['k.pem'], []])
})

test('what a killed process left of a file is removed, and nothing of other files', async () => {
  for (const name of [
    '.out.0123456789abcdef.new',
    '.out.mine.new',
    '.out.x.0123456789abcdef.new',
  ]) {
    writeFileSync(join(folder, name), '')
  }
  await writerOf('jwks')('a')
  const left = ['.out.mine.new', '.out.x.0123456789abcdef.new', 'out']
  expect(readdirSync(folder)).toEqual(left)
})

test('a pipe in the place of a file is replaced', async () => {
  execFileSync('mkfifo', [out])
  expect(await writerOf('jwks')('a')).toBe(true)
  expect(statSync(out).isFile()).toBe(true)
})

/** Where paths begin at the open folder, and where real paths are compared. */
describe.each(['linux', 'darwin'])('somebody else can write to the folder (%s)', (platform) => {
  const own = Object.getOwnPropertyDescriptor(process, 'platform') ?? {}
  let outside: string
  beforeEach(() => {
    Object.defineProperty(process, 'platform', { ...own, value: platform })
    outside = join(folder, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'x.pem'), 'kept')
  })
  afterEach(() => {
    Object.defineProperty(process, 'platform', own)
    expect(readdirSync(outside)).toEqual(['x.pem'])
    expect(readFileSync(join(outside, 'x.pem'), 'utf8')).toBe('kept')
  })

  test('a link under the name of the file, or of its new content, leads nowhere', async () => {
    const file = join(outside, 'x.pem')
    for (const name of ['out', '.out.new']) symlinkSync(file, join(folder, name))
    expect(await writerOf('jwks')('a')).toBe(true)
    expect(JSON.parse(readFileSync(out, 'utf8')).keys[0].kid).toBe('a')
  })

  test.each([
    '["../outside/x.pem", "sub/x.pem"]',
    '{".": ["../outside/x.pem", "/etc/hosts.pem/..", "sub/x.pem", 7], "..": ["outside/x.pem"]}',
    '{"../outside": ["x.pem"], "": ["x.pem"], "a": 7}',
  ])('the manifest %s removes nothing outside', async (manifest) => {
    await writerOf('pem-dir')('a')
    symlinkSync(outside, join(out, 'sub'))
    writeFileSync(join(out, '.pubring-follow.json'), manifest)
    expect(await writerOf('pem-dir')('b')).toBe(true)
    expect(pems()).toContain('b.pem')
  })

  test('a manifest that names a link as a folder is an error after the files are written', async () => {
    await writerOf('pem-dir')('a')
    symlinkSync(outside, join(out, 'sub'))
    writeFileSync(join(out, '.pubring-follow.json'), '{"sub": ["x.pem"], ".": ["a.pem"]}')
    await expect(writerOf('pem-dir')('b')).rejects.toThrow(join(out, 'sub'))
    expect(pems()).toContain('b.pem')
  })

  test('a link in the place of the folder of key files is an error', async () => {
    symlinkSync(outside, out)
    await expect(writerOf('pem-dir')('a')).rejects.toThrow(out)
    rmSync(out)
    symlinkSync(outside, `${out}.d`)
    await expect(writerOf('haproxy')('a')).rejects.toThrow(`${out}.d`)
  })

  test('a link on the way to the folder of the file is followed', async () => {
    const real = join(folder, 'real')
    mkdirSync(real)
    symlinkSync(real, join(folder, 'link'))
    out = join(folder, 'link', 'out')
    expect(await writerOf('pem-dir')('a')).toBe(true)
    expect(pems(join(real, 'out'))).toEqual(['a.pem'])
  })
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
