import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { apiKeyRecord } from '../../packages/server/src/features/api-keys/operations.ts'
import { findApiKeyByDigest } from '../../packages/server/src/features/api-keys/reads.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { isBlocked } from '../../packages/server/src/features/keys/reads.ts'
import { keyEntityTag } from '../../packages/server/src/features/keys/roles.ts'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { systemLedgerId } from '../../packages/server/src/kernel/ledger/chain.ts'
import { findProjectRecord } from '../../packages/server/src/kernel/storage/reads.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { createDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'
import { waitFor } from '../support/waiting.ts'

const database = await createDatabase('postgres')
const { port } = new URL(database.url)
const proxy = await startTcpProxy(Number(port))
const store = await openStore(database.url.replace(port, String(proxy.port)))

afterAll(async () => {
  await store.close()
})

/** As on the wire; "read committed" must not match. */
const commit = 'commit\0'

let projectId: string
beforeEach(async () => {
  // The store may still be connecting after the fault of the test before.
  const creating = () => createProject(store, `p-${newId().slice(-12)}`)
  projectId = (await waitFor(creating)).id
})

const revisionOf = async (ledgerId: string) =>
  (await store.heads([ledgerId])).get(ledgerId)?.revision

describe.each(['before', 'after'] as const)(
  'if the connection breaks %s the server receives the commit',
  (when) => {
    test('a key is created once, with one event', async () => {
      const key = keyRecord(projectId)
      proxy.cutAt(commit, when)
      const made = await store.commit({ type: 'key.create', origin: origin(), key, limits })
      expect(made).toEqual(key)
      expect(await keySetOf(store, projectId)).toEqual({
        name: expect.any(String),
        revision: 2,
        head: expect.any(String),
        keys: [key],
      })
    })

    test('an import is made once', async () => {
      const keys = [keyRecord(projectId), keyRecord(projectId)]
      proxy.cutAt(commit, when)
      const { items, rejected } = await store.commit({
        type: 'key.import',
        origin: origin(),
        projectId,
        keys: keys.map((key, index) => ({ index, key, kidProvided: false })),
        limits,
        compared: [],
        dryRun: false,
      })
      expect(rejected).toEqual([])
      expect(items).toEqual(keys.map(({ id }) => ({ outcome: 'created', kid: id })))
      expect(await revisionOf(projectId)).toBe(3)
    })

    test('a project is created once, and not rejected for its own name', async () => {
      const name = `n-${newId().slice(-12)}`
      const before = await revisionOf(systemLedgerId)
      proxy.cutAt(commit, when)
      const { id, revision } = await createProject(store, name)
      expect(revision).toBe(1)
      expect(await findProjectRecord(store.reader, { name })).toMatchObject({ id, revision: 1 })
      expect(await revisionOf(systemLedgerId)).toBe((before ?? 0) + 1)
    })

    test('a change is made once', async () => {
      const key = keyRecord(projectId)
      await store.commit({ type: 'key.create', origin: origin(), key, limits })
      proxy.cutAt(commit, when)
      const patch = { active: false }
      const change = { origin: origin(), projectId, kid: key.id, patch, limits }
      expect((await store.commit({ type: 'key.update', ...change })).key.enabled).toBe(false)
      expect(await revisionOf(projectId)).toBe(3)
    })

    test('a deletion succeeds instead of failing with "not found"', async () => {
      const key = keyRecord(projectId, { enabled: false })
      await store.commit({ type: 'key.create', origin: origin(), key, limits })
      proxy.cutAt(commit, when)
      const kid = key.id
      await store.commit({ type: 'key.delete', origin: origin(), projectId, kid })
      expect(await keySetOf(store, projectId)).toEqual({
        name: expect.any(String),
        revision: 3,
        head: expect.any(String),
        keys: [],
      })
      proxy.cutAt(commit, when)
      await store.commit({ type: 'project.delete', origin: origin(), projectId })
      expect(await findProjectRecord(store.reader, { id: projectId })).toBeUndefined()
      expect(await revisionOf(projectId)).toBe(4)
    })

    test.each([
      ['published kid', 'orders-2026'],
      ['id in upper case', undefined],
    ])('a key is changed and deleted once if it is named by its %s', async (_name, published) => {
      const key = keyRecord(projectId, published === undefined ? {} : { publishedKid: published })
      const named = { projectId, kid: published ?? key.id.toUpperCase() }
      await store.commit({ type: 'key.create', origin: origin(), key, limits })
      const precondition = {
        ifMatch: keyEntityTag(key, 'spreading', origin().time, 60),
        jwksMaxAge: 60,
      }
      proxy.cutAt(commit, when)
      const patch = { active: false }
      const change = { ...named, origin: origin(), patch, limits, precondition }
      expect((await store.commit({ type: 'key.update', ...change })).key.enabled).toBe(false)
      proxy.cutAt(commit, when)
      await store.commit({ type: 'key.delete', ...named, origin: origin() })
      expect((await keySetOf(store, projectId))?.keys).toEqual([])
      expect(await revisionOf(projectId)).toBe(4)
    })

    test('an API key is created once', async () => {
      const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: 'ci', role: 'reader' })
      const before = await revisionOf(systemLedgerId)
      proxy.cutAt(commit, when)
      await store.commit({ type: 'api_key.create', origin: origin(), apiKey })
      expect(await findApiKeyByDigest(store.reader, apiKey.digest)).toEqual(apiKey)
      expect(await revisionOf(systemLedgerId)).toBe((before ?? 0) + 1)
    })

    test('a submitted private key is recorded once', async () => {
      const { thumbprint, materialSha256 } = keyRecord(projectId)
      const exposed = { thumbprint, materialSha256 }
      proxy.cutAt(commit, when)
      await store.commit({ type: 'private_key.refuse', origin: origin(), projectId, exposed })
      expect(await isBlocked(store.reader, exposed)).toBe(true)
      expect(await revisionOf(projectId)).toBe(2)
    })
  },
)

test('if the connection breaks in the middle of a change, the change is made once', async () => {
  const key = keyRecord(projectId)
  proxy.cutAt('insert into "jwt_key"', 'after')
  await store.commit({ type: 'key.create', origin: origin(), key, limits })
  expect(await keySetOf(store, projectId)).toEqual({
    name: expect.any(String),
    revision: 2,
    head: expect.any(String),
    keys: [key],
  })
})

test.each(['before', 'after'] as const)(
  'if the database is away from the moment %s it receives the commit, the change is made once when it is back',
  async (when) => {
    const key = keyRecord(projectId)
    const blocked = Promise.withResolvers<number>()
    proxy.cutAt(commit, when, () => {
      proxy.block()
      blocked.resolve(proxy.connections())
    })
    const creating = store.commit({ type: 'key.create', origin: origin(), key, limits })
    const before = await blocked.promise
    // The store is connecting again, which the blocked proxy never answers.
    await expect.poll(proxy.connections).toBeGreaterThan(before)
    proxy.restore()
    expect(await creating).toEqual(key)
    expect(await revisionOf(projectId)).toBe(2)
  },
)

test('if the outcome cannot be determined, the error says so, and the change is complete or absent', async () => {
  const key = keyRecord(projectId)
  proxy.cutAt(commit, 'after', () => proxy.block())
  const creating = store.commit({ type: 'key.create', origin: origin(), key, limits })
  await expect(creating).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: expect.stringContaining('Check whether the change was made'),
  })
  proxy.restore()
  const rows = await database.query('select id from jwt_key where project_id = ?', projectId)
  const events = await database.query('select revision from event where project_id = ?', projectId)
  expect(rows).toEqual([{ id: key.id }])
  expect(events).toHaveLength(2)
})
