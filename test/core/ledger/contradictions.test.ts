import { afterEach, beforeEach, expect, test } from 'vitest'
import { apiKeyRecord } from '../../../src/core/api-keys/operations.ts'
import { newApiKeySecret } from '../../../src/core/api-keys/secrets.ts'
import { type EventContent, eventHash, systemLedgerId } from '../../../src/core/ledger/chain.ts'
import {
  type Contradiction,
  createContradictions,
} from '../../../src/core/ledger/contradictions.ts'
import type { ApiKeyRecord, KeyRecord } from '../../../src/core/records.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createReplayThread } from '../../../src/storage/replay.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import {
  createProject,
  limits,
  openTestStore,
  origin,
  type TestStore,
} from '../../support/store/store.ts'
import { waitFor } from '../../support/waiting.ts'

let opened: TestStore
let projectId: string
let key: KeyRecord
let apiKey: ApiKeyRecord
let replays: ReturnType<typeof createReplayThread>
let contradictions: ReturnType<typeof createContradictions>
let reported: Contradiction[]

beforeEach(async () => {
  opened = await openTestStore()
  const { store, database } = opened
  projectId = (await createProject(store, 'payments')).id
  key = keyRecord(projectId)
  await store.commit({ type: 'key.create', origin: origin(), key, limits })
  const patch = { label: 'renamed' }
  await store.commit({
    type: 'key.update',
    origin: origin(),
    projectId,
    kid: key.id,
    patch,
    limits,
  })
  apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: 'r', role: 'reader' })
  await store.commit({ type: 'api_key.create', origin: origin(), apiKey })
  const update = { type: 'api_key.update', origin: origin(), id: apiKey.id } as const
  await store.commit({ ...update, patch: { name: 'renamed' } })
  for (const ledgerId of [projectId, systemLedgerId]) await writeAsBefore(ledgerId)
  reported = []
  replays = createReplayThread(database.url)
  const { replayLedger } = replays
  contradictions = createContradictions(
    { store, clock: systemClock, replayLedger },
    (one) => reported.push(one),
    0,
  )
})
afterEach(async () => {
  contradictions.close()
  await replays.close()
  await opened.dispose()
})

/** Leaves out of the events what releases before this one did not write. */
async function writeAsBefore(ledgerId: string): Promise<void> {
  const { store, database } = opened
  let hash = '0'.repeat(64)
  for (const event of await store.events(ledgerId, { after: 0, limit: 100 })) {
    const { state: _state, ...changes } = event.changes ?? {}
    const content: EventContent = { ...event, changes }
    hash = eventHash(hash, content)
    const set = 'update event set changes = ?, hash = ? where project_id = ? and revision = ?'
    await database.execute(set, JSON.stringify(changes), hash, ledgerId, event.revision)
  }
  await database.execute('update ledger set hash = ? where project_id = ?', hash, ledgerId)
}

const readKey = async () => (await contradictions.store.published.keySet(projectId))?.keys[0]
const readApiKey = () => contradictions.store.findApiKeyByDigest(apiKey.digest)
const replayed = (count: number) => waitFor(() => expect(contradictions.count()).toBe(count))

test('events of earlier releases are compared as far as they go: rows that they agree with are used', async () => {
  expect(await readKey()).toMatchObject({ label: 'renamed' })
  expect(await readApiKey()).toMatchObject({ name: 'renamed', role: 'reader' })
  for (const ledgerId of [projectId, systemLedgerId]) {
    expect(await replays.replayLedger(ledgerId)).toMatchObject({ contradicted: [] })
  }
  expect((await readKey())?.contradicted).toBeUndefined()
  expect(reported).toEqual([])
})

test('a row that an earlier release wrote last gets an event, and is then compared completely', async () => {
  const { store, database } = opened
  const recorded = async () =>
    (await store.events(systemLedgerId, { after: 0, limit: 100 })).filter(
      ({ type }) => type === 'api_key.recorded',
    )
  await waitFor(async () => expect(await recorded()).toHaveLength(1))
  expect(await recorded()).toMatchObject([
    {
      actor: { name: 'pubring serve' },
      subject: { type: 'api_key', id: apiKey.id },
      changes: {
        name: { to: 'renamed' },
        role: { to: 'reader' },
        state: { to: expect.anything() },
      },
    },
  ])
  const { incomplete, revision } = await replays.replayLedger(systemLedgerId)
  expect(incomplete).toEqual([])
  // As another process does, which has replayed the ledger before.
  const subjects = [`api_key ${apiKey.id}`]
  for (const seen of [revision - 1, 0]) {
    const change = { origin: origin(), revision: seen, incomplete: subjects }
    await store.commit({ type: 'ledger.complete', ...change })
  }
  expect(await recorded()).toHaveLength(1)
  expect(await readApiKey()).toMatchObject({ name: 'renamed' })
  await database.execute('update api_key set digest = ? where id = ?', 'e'.repeat(64), apiKey.id)
  expect(await store.findApiKey(apiKey.id)).toMatchObject({ contradicted: true })
})

test('what the last event does not say is found by a replay in the background, once a row was used', async () => {
  const { database } = opened
  await database.execute('update jwt_key set algorithm = ? where id = ?', 'ES384', key.id)
  await database.execute("update api_key set role = 'admin' where id = ?", apiKey.id)
  const [head] = (await contradictions.store.heads([projectId])).values()
  expect((await readKey())?.contradicted).toBe(true)
  expect((await readApiKey())?.contradicted).toBeUndefined()
  await contradictions.store.heads([systemLedgerId])
  await replayed(2)
  expect(await readApiKey()).toMatchObject({ contradicted: true })
  expect(reported).toContainEqual({ ledgerId: systemLedgerId, subject: `api_key ${apiKey.id}` })
  const seen = [{ ledgerId: projectId, hash: head?.hash ?? '' }]
  await waitFor(async () => expect(await contradictions.store.headsMatch(seen)).toBe(false))
  const [now] = (await contradictions.store.heads([projectId])).values()
  const current = [{ ledgerId: projectId, hash: now?.hash ?? '' }]
  expect(await contradictions.store.headsMatch(current)).toBe(true)
  expect((await contradictions.store.keySet(projectId))?.head).toBe(now?.hash)
})

test('keys whose events come after a break in the chain are not used any more', async () => {
  const { database } = opened
  expect((await readKey())?.contradicted).toBeUndefined()
  const set = 'update event set time = ? where revision = 2 and project_id = ?'
  await database.execute(set, '2020-01-01', projectId)
  // Those that were read before may have been replayed before.
  contradictions.close()
  const { replayLedger } = replays
  contradictions = createContradictions(
    { store: opened.store, clock: systemClock, replayLedger },
    (one) => reported.push(one),
    0,
  )
  await readKey()
  await replayed(2)
  expect(reported).toContainEqual({ ledgerId: projectId, subject: `ledger ${projectId}` })
  expect(await readKey()).toMatchObject({ contradicted: true })
})

test('a ledger is replayed that is only followed', async () => {
  const set = 'update event set time = ? where revision = 2 and project_id = ?'
  await opened.database.execute(set, '2020-01-01', projectId)
  const follower = contradictions.store.followHeads()
  follower.follow(projectId)
  const before = await follower.read()
  expect([...before.keys()]).toEqual([projectId])
  await replayed(2)
  expect(reported).toContainEqual({ ledgerId: projectId, subject: `ledger ${projectId}` })
  // Without a new event, the finding alone changes the head.
  const after = await follower.read()
  expect([...after.keys()]).toEqual([projectId])
  expect(after.get(projectId)?.hash).not.toBe(before.get(projectId)?.hash)
  expect(after).toEqual(await contradictions.store.heads([projectId]))
  expect(await follower.read()).toEqual(new Map())
})

test('a project whose events come after a break in the chain is not served', async () => {
  const set = 'update event set time = ? where revision = 1 and project_id = ?'
  await opened.database.execute(set, '2020-01-01', projectId)
  const { search } = contradictions.store
  expect(await search.projectsById([projectId])).toMatchObject([{ name: 'payments' }])
  await contradictions.store.heads([projectId])
  await replayed(3)
  expect(await search.projectsById([projectId])).toEqual([])
  const error = { code: 'storage_unavailable' }
  await expect(contradictions.store.findProject({ id: projectId })).rejects.toMatchObject(error)
})

test('a project whose row contradicts its ledger is not served', async () => {
  await opened.database.execute("update project set name = 'mine' where id = ?", projectId)
  const error = { code: 'storage_unavailable', message: expect.stringMatching(/pubring check/) }
  await expect(opened.store.findProject({ name: 'mine' })).rejects.toMatchObject(error)
  await expect(opened.store.identifyProject({ name: 'mine' })).rejects.toMatchObject(error)
  await expect(opened.store.keySet(projectId)).rejects.toMatchObject(error)
  expect(await opened.store.listProjects({ limit: 9 })).toEqual([])
})

test('a contradicted row cannot be changed, so that no event confirms it, but deleted', async () => {
  const { store, database } = opened
  await database.execute("update jwt_key set label = 'mine' where id = ?", key.id)
  await database.execute("update api_key set name = 'mine' where id = ?", apiKey.id)
  const error = { code: 'storage_unavailable' }
  const change = { origin: origin(), projectId, kid: key.id }
  await expect(
    store.commit({ type: 'key.update', ...change, patch: { label: 'x' }, limits }),
  ).rejects.toMatchObject(error)
  const report = { weaknesses: ['rsa_roca' as const], deactivate: false }
  await expect(
    store.commit({ type: 'key.report_weakness', ...change, ...report }),
  ).rejects.toMatchObject({ code: 'key_not_found' })
  const update = { origin: origin(), id: apiKey.id }
  await expect(
    store.commit({ type: 'api_key.update', ...update, patch: { name: 'x' } }),
  ).rejects.toMatchObject(error)
  await store.commit({ type: 'key.delete', ...change })
  await store.commit({ type: 'api_key.delete', ...update })
  for (const ledgerId of [projectId, systemLedgerId]) {
    expect(await replays.replayLedger(ledgerId)).toMatchObject({ contradicted: [] })
  }
})
