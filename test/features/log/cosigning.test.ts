import { copyFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { verifyCheckpoint } from '../../../packages/client/src/log/index.ts'
import { readTree } from '../../../packages/server/src/features/log/reads.ts'
import {
  logOrigin,
  logVerifierKey,
  restartLog,
  signCheckpoint,
} from '../../../packages/server/src/features/log/signing.ts'
import { createWitnesses } from '../../../packages/server/src/features/log/witnesses.ts'
import type { LogSigner } from '../../../packages/server/src/kernel/context.ts'
import { testClock } from '../../support/app/clock.ts'
import { createKeyFile, type TestKeyFile } from '../../support/log/key-file.ts'
import { startWitness } from '../../support/log/witness.ts'
import { createDatabase } from '../../support/store/database.ts'
import { createProject, openTestStore, origin, type TestStore } from '../../support/store/store.ts'

const publicUrl = 'https://keys.example.com'
const ownOrigin = () => logOrigin(publicUrl, key.open())
const ownKey = () => logVerifierKey(ownOrigin(), key.open())

let stored: TestStore
let key: TestKeyFile
let witness: Awaited<ReturnType<typeof startWitness>>
beforeEach(async () => {
  stored = await openTestStore()
  key = createKeyFile()
  witness = await startWitness(await ownKey())
})

/** The state of a process that has just started. */
function startProcess({ store } = stored) {
  const context = {
    store,
    clock: testClock(),
    config: { publicUrl },
    witnesses: createWitnesses([witness.witness], witness.fetchWith({ timeoutMs: 2_000 })),
  }
  const { witnesses } = context
  return {
    context,
    sign: (signer: LogSigner = key.open()) => signCheckpoint(context, signer),
    results: () => witnesses.results().map(({ outcome }) => outcome),
  }
}

const contradicted = expect.objectContaining({
  code: 'log_stopped',
  extras: { errors: [expect.objectContaining({ code: 'contradicted' })] },
})

test('an unchanged tree is dated and cosigned again after a minute, by the witnesses that are there', async () => {
  const { context, sign } = startProcess()
  const keys = { log: await ownKey(), witnesses: [witness.witness.key] }
  const published = async () => (await readTree(stored.store.reader))?.checkpoint ?? ''
  await createProject(stored.store, 'a')
  await sign()
  const first = await verifyCheckpoint(await published(), keys)
  expect(first.date).toBeTypeOf('number')
  context.clock.advance(30_000)
  const requests = witness.state.bodies.length
  await sign()
  expect(await verifyCheckpoint(await published(), keys)).toEqual(first)
  expect(witness.state.bodies).toHaveLength(requests)
  context.clock.advance(30_000)
  await sign()
  expect(witness.state.bodies).toHaveLength(requests + 1)
  const { date: dated = 0 } = await verifyCheckpoint(await published(), { ...keys, quorum: 0 })
  expect(dated).toBeGreaterThan((first.date ?? 0) + 50)
  // What a witness has said stays valid, and becomes the date of the whole.
  context.clock.advance(60_000)
  witness.state.respond = () => ({ status: 500, body: '' })
  await sign()
  const { cosignatures, date } = await verifyCheckpoint(await published(), keys)
  expect([cosignatures[0]?.time]).toEqual([date])
})

test('a witness that is away never stops the log, and cosigns when it is back', async () => {
  const { sign, results } = startProcess()
  await createProject(stored.store, 'a')
  witness.state.respond = () => 'never'
  const without = await sign()
  expect(results()).toEqual(['failed'])
  expect((await readTree(stored.store.reader))?.checkpoint).toBe(without.checkpoint)
  delete witness.state.respond
  const cosigned = await sign()
  expect(results()).toEqual(['cosigned'])
  expect(cosigned.checkpoint?.startsWith(without.checkpoint ?? '-')).toBe(true)
  expect((await readTree(stored.store.reader))?.checkpoint).toBe(cosigned.checkpoint)
})

test('a machine that was restored as a whole signs nothing that a witness contradicts', async () => {
  const database = await createDatabase()
  const before = await openTestStore(database)
  await createProject(before.store, 'a')
  await startProcess(before).sign()
  await before.dispose()
  const earlier = await database.copy()
  copyFileSync(`${key.file}.checkpoints`, `${key.file}.earlier`)
  const after = await openTestStore(database)
  await createProject(after.store, 'lost')
  await startProcess(after).sign()
  await after.dispose()

  copyFileSync(`${key.file}.earlier`, `${key.file}.checkpoints`)
  const restored = await openTestStore(earlier)
  const { context, sign, results } = startProcess(restored)
  for (const name of ['b', 'c', 'd']) await createProject(restored.store, name)
  const signed = key.open().lastSigned(ownOrigin())
  for (const _attempt of [1, 2]) {
    await expect(sign()).rejects.toEqual(contradicted)
    expect(key.open().lastSigned(ownOrigin())).toBe(signed)
  }
  expect(results()).toEqual(['contradicted'])

  key.replace()
  await restartLog(context, key.open(), origin())
  expect(await sign()).toMatchObject({ origin: ownOrigin(), size: 6 })
  expect(results()).toEqual(['failed'])
})

test('a checkpoint that a witness contradicts is not published', async () => {
  const { sign } = startProcess()
  await createProject(stored.store, 'a')
  await sign()
  // Both the tree and the checkpoints are lost, and their origin is used again.
  const fresh = await openTestStore()
  const other = createKeyFile()
  copyFileSync(key.file, other.file)
  for (const name of ['b', 'c']) await createProject(fresh.store, name)
  const process = startProcess(fresh)
  for (const _attempt of [1, 2]) {
    await expect(process.sign(other.open())).rejects.toEqual(contradicted)
  }
  expect((await readTree(fresh.store.reader))?.checkpoint).toBeUndefined()
  expect(witness.state.bodies.filter((body) => body.includes('\n5\n'))).toEqual([])
})
