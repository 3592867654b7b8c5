import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readProjectPage } from '../../../../packages/server/src/features/projects/reads.ts'
import { openLedgerReader, openStore } from '../../../../packages/server/src/registry.ts'
import { temporaryFolder } from '../../../support/server/process.ts'
import { createProject } from '../../../support/store/store.ts'
import { waitUntil } from '../../../support/waiting.ts'

const { folder } = temporaryFolder()

/** Copies the files that a crash leaves of a registry in use: those of one moment. */
async function crashed(name: string, use: (file: string) => Promise<void>): Promise<string> {
  const used = join(folder, name)
  const left = join(folder, `${name}-left`)
  for (const where of [used, left]) mkdirSync(where)
  const file = join(used, 'pubring.db')
  const store = await openStore(`sqlite:${file}`)
  await createProject(store, 'orders')
  await use(file)
  for (const suffix of ['', '-wal', '-generation']) {
    copyFileSync(file + suffix, join(left, `pubring.db${suffix}`))
  }
  await store.close()
  return join(left, 'pubring.db')
}

const names = async (file: string) => {
  const store = await openStore(`sqlite:${file}`)
  const projects = await readProjectPage(store.reader, { limit: 5 })
  await store.close()
  return projects.map(({ name }) => name)
}

const missing =
  /^The latest changes of the database .* are missing: they were in .*-wal, which is gone or was not used\. Bring it back, or restore a backup; to continue without those changes, remove .*-generation\.$/

describe('a registry that has lost its log', () => {
  test('does not start as a new one, and starts as it was once the log is back', async () => {
    const file = await crashed('new', async () => {})
    copyFileSync(`${file}-wal`, `${file}-wal.saved`)
    rmSync(`${file}-wal`)
    await expect(openStore(`sqlite:${file}`)).rejects.toThrow(missing)
    await expect(openLedgerReader(`sqlite:${file}`)).rejects.toThrow(missing)
    copyFileSync(`${file}-wal.saved`, `${file}-wal`)
    expect(await names(file)).toEqual(['orders'])
  })

  test('does not start without the changes since a checkpoint', async () => {
    const file = await crashed('merged', untilMerged)
    rmSync(`${file}-wal`)
    await expect(openStore(`sqlite:${file}`)).rejects.toThrow(missing)
    rmSync(`${file}-generation`)
    expect(await names(file)).toEqual(['orders'])
  })

  test('is found by the user of the server after a command of root', async () => {
    const isRoot = process.getuid?.() === 0
    const owner = isRoot ? 54_321 : Number(process.getuid?.())
    const group = isRoot ? owner : Number(process.getgid?.())
    const file = await crashed('owned', async () => {})
    chownSync(file, owner, group)
    expect(await names(file)).toEqual(['orders'])
    const { uid, gid } = statSync(`${file}-generation`)
    expect([uid, gid]).toEqual([owner, group])
  })
})

/** The first checkpoint, and the next generation, come a second after the first change. */
async function untilMerged(file: string): Promise<void> {
  const generation = () => readFileSync(`${file}-generation`, 'utf8')
  await waitUntil(() => generation() === '2\n')
}

test('a new registry is in its file soon, after any loss of the log and the generation', async () => {
  const file = await crashed('moved', untilMerged)
  const moved = join(folder, 'moved.db')
  copyFileSync(file, moved)
  expect(await names(moved)).toEqual(['orders'])
})

test('an empty file beside the database, which a power loss can leave, is ignored', async () => {
  const file = await crashed('empty', async () => {})
  writeFileSync(`${file}-generation`, '')
  expect(await names(file)).toEqual(['orders'])
  expect(existsSync(`${file}-generation`)).toBe(true)
})

test('a damaged page stops the start', async () => {
  const file = join(folder, 'damaged.db')
  const store = await openStore(`sqlite:${file}`)
  await Promise.all(Array.from({ length: 100 }, (_, index) => createProject(store, `p-${index}`)))
  await store.close()
  const content = readFileSync(file)
  // The last page, of the ledgers, whose content a start does not need.
  content.fill(0xff, content.length - 4_096)
  writeFileSync(file, content)
  await expect(openStore(`sqlite:${file}`)).rejects.toThrow(/damaged/)
})
