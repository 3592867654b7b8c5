import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makePrivateFolder, readBounded } from '../../packages/server/src/runtime/files.ts'

const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
afterAll(() => rmSync(folder, { recursive: true }))

let pipes = 0
function newPipe(): string {
  pipes += 1
  const path = join(folder, `pipe-${pipes}`)
  execFileSync('mkfifo', [path])
  return path
}

test('a file is read whole, up to the limit', () => {
  const file = join(folder, 'file')
  writeFileSync(file, 'x'.repeat(200_000))
  expect(readBounded(file, 200_000)).toHaveLength(200_000)
  expect(() => readBounded(file, 199_999)).toThrow(expect.objectContaining({ code: 'EFBIG' }))
  writeFileSync(file, '')
  expect(readBounded(file)).toHaveLength(0)
  expect(() => readBounded('/dev/zero')).toThrow(expect.objectContaining({ code: 'EFBIG' }))
  expect(() => readBounded(folder)).toThrow(expect.objectContaining({ code: 'EISDIR' }))
})

test('a pipe is read to its end, also if its writer is slow', () => {
  const pipe = newPipe()
  spawn('sh', ['-c', `exec > ${pipe}; sleep 0.1; printf one; sleep 0.1; printf two`])
  expect(readBounded(pipe).toString()).toBe('onetwo')
})

test('a pipe without a writer, or with a silent one, is given up', () => {
  const pipe = newPipe()
  const timeout = expect.objectContaining({ code: 'ETIMEDOUT' })
  expect(() => readBounded(pipe, 100, 50)).toThrow(timeout)
  const writer = spawn('sh', ['-c', `exec > ${pipe}; printf one; exec sleep 60`])
  expect(() => readBounded(pipe, 100, 300)).toThrow(timeout)
  writer.kill()
})

test('a pipe that never ends is too large', () => {
  const pipe = newPipe()
  const writer = spawn('sh', ['-c', `exec yes > ${pipe}`])
  expect(() => readBounded(pipe)).toThrow(expect.objectContaining({ code: 'EFBIG' }))
  writer.kill()
})

test('missing folders are created for the owner only; existing ones keep their mode', () => {
  mkdirSync(join(folder, 'open'), { mode: 0o755 })
  makePrivateFolder(join(folder, 'open/a/b'))
  makePrivateFolder(join(folder, 'open/a/b'))
  const modes = ['open', 'open/a', 'open/a/b'].map((each) => statSync(join(folder, each)).mode)
  expect(modes.map((mode) => mode & 0o777)).toEqual([0o755, 0o700, 0o700])
})

test('a folder that cannot be created is an error, not an endless loop', () => {
  writeFileSync(join(folder, 'no-folder'), '')
  expect(() => makePrivateFolder(join(folder, 'no-folder/a/b'))).toThrow(/ENOTDIR/)
  expect(() => makePrivateFolder('/proc/no/such')).toThrow(/ENOENT|EACCES|EPERM/)
})
