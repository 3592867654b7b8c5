import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../packages/server/src/features/keys/stored.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { closeModulus, rsaRecord } from '../support/keys/weak-keys.ts'
import { temporaryFolder } from '../support/server/process.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, origin } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

// Signals end a process of its own, whose low priority leaves it nearly nothing of a busy machine.

const main = join(import.meta.dirname, '../../bin/pubring.js')
const { folder } = temporaryFolder()
const file = join(folder, 'pubring.db')
const store = await openStore(`sqlite:${file}`)
const limits = { maxKeys: 1_000, maxJwksBytes: 10_000_000 }
const [projectCount, keysEach] = [32, 50]

afterAll(async () => {
  await store.close()
})

async function put(key: KeyRecord): Promise<KeyRecord> {
  return store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}

function startAudit(...args: string[]) {
  const child = spawn(process.execPath, [main, 'audit', ...args], {
    env: { PATH: process.env.PATH, PUBRING_DATABASE_URL: `sqlite:${file}` },
  })
  const written = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (text: Buffer) => {
      written[stream] += text
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code, ...written }))
  return { child, ended }
}

const audit = (...args: string[]) => startAudit(...args).ended

beforeAll(async () => {
  const weak = await createProject(store, 'weak')
  await put(rsaRecord(weak.id, closeModulus(50_000n)))
  const records = Array.from({ length: keysEach }, () => keyRecord(''))
  for (let index = 0; index < projectCount; index += 1) {
    const { id } = await createProject(store, `many-${index}`)
    await Promise.all(records.map((key) => put({ ...key, id: newId(), projectId: id })))
  }
})

function passed(): number {
  const database = new DatabaseSync(file, { readOnly: true })
  const row = database.prepare('select count(*) n from passed_key')
  const { n } = row.get() ?? {}
  database.close()
  return Number(n)
}

test.each([
  ['SIGTERM', 143],
  ['SIGKILL', null],
] as const)('%s keeps the results of an audit so far', async (signal, expected) => {
  const before = passed()
  const { child, ended } = startAudit()
  await waitUntil(() => passed() > before)
  child.kill(signal)
  const { code, stdout, stderr } = await ended
  expect(code).toBe(expected)
  if (signal !== 'SIGTERM') return
  expect(stdout).toMatch(/, partially audited: .*\n$/)
  expect(stderr).toMatch(/^Interrupted: run it again to resume\.$/m)
  expect(passed()).toBeLessThan(projectCount * keysEach)
})

test('the next audit examines the rest', async () => {
  const before = passed()
  const { stdout } = await audit('--json')
  const { keys, examined, complete } = JSON.parse(stdout)
  expect(complete).toBe(true)
  expect(examined).toBe(keys - before)
  // The key that is weak by itself never passes.
  expect(passed()).toBe(keys - 1)
  expect(JSON.parse((await audit('--json')).stdout)).toMatchObject({ examined: 1 })
})
