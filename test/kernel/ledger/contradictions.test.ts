import { beforeEach, expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { findApiKeyByDigest } from '../../../packages/server/src/features/api-keys/reads.ts'
import {
  type ApiKeyRecord,
  apiKeys,
} from '../../../packages/server/src/features/api-keys/stored.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { readKeySet } from '../../../packages/server/src/features/keys/reads.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { readProjectPage } from '../../../packages/server/src/features/projects/reads.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import {
  type EventContent,
  eventHash,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import type { Contradiction } from '../../../packages/server/src/kernel/ledger/contradictions.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { isWhole } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { readNewest } from '../../support/store/newest.ts'
import {
  createProject,
  limits,
  openTestStore,
  origin,
  type TestStore,
} from '../../support/store/store.ts'

let opened: TestStore
let projectId: string
let key: KeyRecord
let apiKey: ApiKeyRecord

beforeEach(async () => {
  opened = await openTestStore()
  const { store } = opened
  projectId = (await createProject(store, 'payments')).id
  key = keyRecord(projectId)
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: 'r', role: 'reader' })
  await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
})

async function areWhole(): Promise<boolean> {
  const reader = await openLedgerReader(opened.database.url)
  const verdicts = await Array.fromAsync(verifyLedgers(reader))
  await reader.close()
  return verdicts.every(isWhole)
}

test('a contradicted row is reported whenever it is read, and counts until it is read whole', async () => {
  const { store, database } = opened
  const read: Contradiction[] = []
  store.contradictions.onRead((one) => read.push(one))
  const readAll = async () => {
    await readNewest(store.published, projectId, readKeySet).catch(() => undefined)
    await findApiKeyByDigest(store.reader, apiKey.digest)
  }
  await readAll()
  expect(store.contradictions.count()).toBe(0)
  const set = async (label: string, role: string, name: string) => {
    await database.execute('update jwt_key set label = ? where id = ?', label, key.id)
    await database.execute('update api_key set role = ? where id = ?', role, apiKey.id)
    await database.execute('update project set name = ? where id = ?', name, projectId)
  }
  await set('mine', 'admin', 'payments')
  await readAll()
  await readAll()
  const contradictions = [
    { ledgerId: projectId, subject: `key ${key.id}` },
    { ledgerId: systemLedgerId, subject: `api_key ${apiKey.id}` },
  ]
  expect(read).toEqual([...contradictions, ...contradictions])
  expect(store.contradictions.count()).toBe(2)
  await set(key.label, 'reader', 'mine')
  await readAll()
  expect(read.at(-1)).toEqual({ ledgerId: projectId, subject: `project ${projectId}` })
  await set(key.label, 'reader', 'payments')
  await readAll()
  expect(store.contradictions.count()).toBe(0)
})

test('a row whose last event does not have its digest is not used', async () => {
  const { store, database } = opened
  let hash = '0'.repeat(64)
  for (const event of await readEvents(store.reader, systemLedgerId, { after: 0, limit: 100 })) {
    const { state: _state, ...changes } = event.changes ?? {}
    const content: EventContent = { ...event, changes }
    hash = eventHash(hash, content)
    const set = 'update event set changes = ?, hash = ? where project_id = ? and revision = ?'
    await database.execute(set, JSON.stringify(changes), hash, systemLedgerId, event.revision)
  }
  await database.execute('update ledger set hash = ? where project_id = ?', hash, systemLedgerId)
  expect(await apiKeys.find(store.reader, apiKey.id)).toMatchObject({ contradicted: true })
  expect(await areWhole()).toBe(false)
})

test('a project whose row contradicts its ledger is not served', async () => {
  await opened.database.execute("update project set name = 'mine' where id = ?", projectId)
  const error = { code: 'storage_unavailable', message: expect.stringMatching(/pubring check/) }
  await expect(findProjectRecord(opened.store.reader, { name: 'mine' })).rejects.toMatchObject(
    error,
  )
  await expect(opened.store.identifyProject({ name: 'mine' })).rejects.toMatchObject(error)
  await expect(keySetOf(opened.store, projectId)).rejects.toMatchObject(error)
  expect(await readProjectPage(opened.store.reader, { limit: 9 })).toEqual([])
})

test('a contradicted row cannot be changed, so that no event confirms it, but deleted', async () => {
  const { store, database } = opened
  await database.execute("update jwt_key set label = 'mine' where id = ?", key.id)
  await database.execute("update api_key set name = 'mine' where id = ?", apiKey.id)
  const error = { code: 'storage_unavailable' }
  const change = { origin: origin(), projectId, kid: key.id }
  await expect(
    store.commit(keyChanges.updateKey, { ...change, patch: { label: 'x' }, limits }),
  ).rejects.toMatchObject(error)
  const report = { weaknesses: ['rsa_roca' as const], deactivate: false }
  await expect(
    store.commit(keyChanges.reportWeakness, { ...change, ...report }),
  ).rejects.toMatchObject({ code: 'key_not_found' })
  const update = { origin: origin(), id: apiKey.id }
  await expect(
    store.commit(apiKeyChanges.updateApiKey, { ...update, patch: { name: 'x' } }),
  ).rejects.toMatchObject(error)
  await store.commit(keyChanges.deleteKey, change)
  await store.commit(apiKeyChanges.deleteApiKey, update)
  expect(await areWhole()).toBe(true)
})
