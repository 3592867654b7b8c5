import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { followOnce } from '../../../packages/agents/src/follow/follow.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { type TestClock, testClock } from '../../support/app/clock.ts'
import { followOptions, kidsIn, startFollower } from '../../support/app/followers.ts'
import { registerAndSign, setActive } from '../../support/app/key-set.ts'
import { createKeyFile } from '../../support/log/key-file.ts'
import { createLiar, foreignKey } from '../../support/log/liar.ts'
import { excuses, proveOldEntry } from '../../support/log/old-proof.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const { folder } = temporaryFolder()
const context = {
  clock: testClock(),
  signal: new AbortController().signal,
  onReload: () => {},
  report: () => {},
}

/** That of the registry. */
let clock: TestClock
let registry: TestApp
let address: string
let liar: Awaited<ReturnType<typeof createLiar>>
let first: string
let logKey: string
let out: string
beforeEach(async () => {
  clock = testClock()
  registry = await startApp({ logSigner: createKeyFile().open(), clock })
  address = await registry.listen()
  liar = await createLiar(address)
  first = (await registerAndSign(registry)).kid
  await sign()
  logKey = (await registry.inject('/log/vkey')).body.trim()
  out = join(folder, randomUUID(), 'keys.json')
})

async function sign(): Promise<void> {
  expect((await registry.send('POST', '/v1/log/checkpoints')).statusCode).toBe(201)
}

const options = () => followOptions(`${liar.url}/v1`, [registry.project.id], { out, logKey })
const documents = () => {
  const path = `/v1/projects/${registry.project.id}/.well-known`
  return { keySet: `${path}/jwks-full.json`, proof: `${path}/ledger-proof` }
}

test('the keys that the log has proven are written, and a new one once it is logged', async () => {
  const { reports } = startFollower(await options())
  await expect.poll(() => kidsIn(out)).toEqual([first])
  const { kid } = await registerAndSign(registry)
  await setActive(registry, first, false)
  // What is taken away is gone at once; an empty set would leave verifiers with the old keys.
  await expect.poll(() => kidsIn(out)).toEqual([])
  await sign()
  await expect.poll(() => kidsIn(out)).toEqual([kid])
  expect(reports.join('\n')).not.toContain('Project')
})

const lieIn = (document: string) => liar.add(foreignKey.jwk, 0, document)

test.each([
  ['a foreign key', () => liar.add(foreignKey.jwk), /it has the key "foreign"/],
  ['a foreign key in jwks.json alone', () => lieIn('/jwks.json'), /it has the key "foreign"/],
  ['a foreign key in jwks-full.json alone', () => lieIn('-full.json'), /it has the key "foreign"/],
  ['no revision', () => liar.dropHeader('pubring-revision'), /Pubring-Revision/],
])('a key set with %s is refused, and nothing is written', async (_name, lie, message) => {
  lie()
  await expect(followOnce(await options(), context)).rejects.toThrow(message)
  expect(kidsIn(out)).toBeUndefined()
})

test('a foreign key at a later revision is left out', async () => {
  liar.add(foreignKey.jwk, 5)
  await followOnce(await options(), context)
  expect(kidsIn(out)).toEqual([first])
})

test('a proof that was dated more than two minutes ago, as one that is sent again, is refused', async () => {
  clock.advance(-130_000)
  await registerAndSign(registry)
  await sign()
  await expect(followOnce(await options(), context)).rejects.toThrow(/not proven .* since 20/)
  expect(kidsIn(out)).toBeUndefined()
})

test('a revocation that is kept back is refused', async () => {
  await liar.freeze(documents().keySet)
  await setActive(registry, first, false)
  await sign()
  await expect(followOnce(await options(), context)).rejects.toThrow(/older|log has revision 3/)
  expect(kidsIn(out)).toBeUndefined()
})

test.each(excuses)(
  'a revocation that is kept back with the old entry in a new tree, and %s, ends the keys with --stale-after',
  async (excuse) => {
    const { keySet, proof } = documents()
    const earlier = await (await fetch(address + proof)).text()
    const follower = startFollower(await options())
    await expect.poll(() => kidsIn(out)).toEqual([first])
    await liar.freeze(keySet)
    liar.forge(proof, () => proveOldEntry(address, proof, earlier, excuse))
    await setActive(registry, first, false)
    await sign()
    await expect(followOnce({ ...(await options()), out: `${out}.new` }, context)).rejects.toThrow(
      /does not show that event 2 is the last one/,
    )
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 121_000 })
    onTestFinished(() => void vi.useRealTimers())
    await expect.poll(() => follower.reports.join('\n')).toContain('is the last one of the ledger')
    follower.clock.advance(700_000)
    await expect.poll(() => kidsIn(out)).toEqual([])
  },
)

test('a project is refused by its name, which the server could give to another one', async () => {
  await expect(
    followOptions(`${liar.url}/v1`, [registry.project.name], { out, logKey }),
  ).rejects.toThrow(/needs the id of each project/)
})

test('keys that are kept from a run without the log are not shown until the log has proven them', async () => {
  const projects = [registry.project.id]
  const unproven = await followOptions(`${liar.url}/v1`, projects, { out })
  liar.add(foreignKey.jwk)
  await followOnce(unproven, context)
  expect(kidsIn(out)).toEqual([first, 'foreign'])
  rmSync(out)
  const listening = await followOptions(unproven.url, projects, {
    out,
    logKey,
    listen: '127.0.0.1:0',
  })
  // The second one has the state that the first one has written.
  for (let run = 0; run < 2; run += 1) {
    const { reports, get, stop } = startFollower(listening)
    await expect.poll(() => reports.join('\n')).toContain('it has the key "foreign"')
    const response = await get(documents().keySet)
    expect(response.status).toBe(503)
    expect(await (await get('/health/ready')).text()).toContain('not received yet')
    expect(kidsIn(out)).toBeUndefined()
    await stop()
  }
  await followOnce({ ...(await options()), url: `${address}/v1` }, context)
  expect(kidsIn(out)).toEqual([first])
})

test('proven keys are kept over a restart without a proof, and go after --stale-after', async () => {
  await followOnce(await options(), context)
  await liar.freeze(documents().keySet, documents().proof)
  await setActive(registry, first, false)
  rmSync(out)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 121_000 })
  onTestFinished(() => void vi.useRealTimers())
  const follower = startFollower(await options())
  await expect.poll(() => kidsIn(out)).toEqual([first])
  await expect.poll(() => follower.reports.join('\n')).toContain('has not proven the key set')
  follower.clock.advance(700_000)
  await expect.poll(() => kidsIn(out)).toEqual([])
})
