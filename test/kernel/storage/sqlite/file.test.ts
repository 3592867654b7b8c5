import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makePrivateFolder } from '../../../../packages/server/src/kernel/storage/sqlite/file.ts'
import { temporaryFolder } from '../../../support/server/process.ts'

const { folder } = temporaryFolder()

test('missing folders are created for the owner only; existing ones keep their mode', () => {
  mkdirSync(join(folder, 'open'), { mode: 0o755 })
  makePrivateFolder(join(folder, 'open/a/b'))
  makePrivateFolder(join(folder, 'open/a/b'))
  const modes = ['open', 'open/a', 'open/a/b'].map((each) => statSync(join(folder, each)).mode)
  expect(modes.map((mode) => mode & 0o777)).toEqual([0o755, 0o700, 0o700])
})

test('a folder that cannot be created is an error, not an endless loop', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => makePrivateFolder(join(folder, 'file/a/b'))).toThrow(/ENOTDIR/)
  expect(() => makePrivateFolder('/proc/no/such')).toThrow(/ENOENT|EACCES|EPERM/)
})
