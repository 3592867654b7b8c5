import pg from 'pg'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../packages/server/src/features/access-rules/changes.ts'
import { readAccessRules } from '../../packages/server/src/features/access-rules/reads.ts'
import { apiKeyChanges } from '../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../packages/server/src/features/api-keys/operations.ts'
import { findApiKeyByDigest } from '../../packages/server/src/features/api-keys/reads.ts'
import { apiKeys } from '../../packages/server/src/features/api-keys/stored.ts'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { isBlocked } from '../../packages/server/src/features/keys/exposure/fingerprints.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { changeTag } from '../../packages/server/src/features/keys/states.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import { signInChanges } from '../../packages/server/src/features/sign-in/changes.ts'
import { sessions } from '../../packages/server/src/features/sign-in/stored.ts'
import { exchangeChanges } from '../../packages/server/src/features/token-exchange/changes.ts'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { findProjectRecord } from '../../packages/server/src/kernel/access/stored-projects.ts'
import { exchangeLedgerId, systemLedgerId } from '../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { endLater } from '../support/ending.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { accessRuleRecord, exchangedKeyRecord } from '../support/store/access-records.ts'
import { createDatabase } from '../support/store/database.ts'
import { keyImport, keyRecord } from '../support/store/key-records.ts'
import { sessionRecord } from '../support/store/sessions.ts'
import { createProject, limits, origin } from '../support/store/store.ts'
import { waitFor } from '../support/waiting.ts'

const database = await createDatabase('postgres')
const { port } = new URL(database.url)
const proxy = await startTcpProxy(Number(port))
const address = database.url.replace(port, String(proxy.port))
const store = await openStore(address)

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

const tokenUse = () => newId()

const revisionOf = async (ledgerId: string) =>
  (await store.heads([ledgerId])).get(ledgerId)?.revision

describe.each(['before', 'after'] as const)(
  'if the connection breaks %s the server receives the commit',
  (when) => {
    test('a key is created once, with one event', async () => {
      const key = keyRecord(projectId)
      proxy.cutAt(commit, when)
      const made = await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
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
      const { items, rejected } = await store.commit(keyChanges.importKeys, keyImport(keys))
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
      await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
      proxy.cutAt(commit, when)
      const patch = { active: false }
      const change = { origin: origin(), projectId, kid: key.id, patch, limits }
      expect((await store.commit(keyChanges.updateKey, change)).key.enabled).toBe(false)
      expect(await revisionOf(projectId)).toBe(3)
    })

    test('a deletion succeeds instead of failing with "not found"', async () => {
      const key = keyRecord(projectId, { enabled: false })
      await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
      proxy.cutAt(commit, when)
      const kid = key.id
      await store.commit(keyChanges.deleteKey, { origin: origin(), projectId, kid })
      expect(await keySetOf(store, projectId)).toEqual({
        name: expect.any(String),
        revision: 3,
        head: expect.any(String),
        keys: [],
      })
      proxy.cutAt(commit, when)
      await store.commit(projectChanges.deleteProject, { origin: origin(), projectId })
      expect(await findProjectRecord(store.reader, { id: projectId })).toBeUndefined()
      expect(await revisionOf(projectId)).toBe(4)
    })

    test.each([
      ['published kid', 'orders-2026'],
      ['id in upper case', undefined],
    ])('a key is changed and deleted once if it is named by its %s', async (_name, published) => {
      const key = keyRecord(projectId, published === undefined ? {} : { publishedKid: published })
      const named = { projectId, kid: published ?? key.id.toUpperCase() }
      await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
      const ifMatch = changeTag(key, origin().time)
      proxy.cutAt(commit, when)
      const patch = { active: false }
      const change = { ...named, origin: origin(), patch, limits, ifMatch }
      expect((await store.commit(keyChanges.updateKey, change)).key.enabled).toBe(false)
      proxy.cutAt(commit, when)
      await store.commit(keyChanges.deleteKey, { ...named, origin: origin() })
      expect((await keySetOf(store, projectId))?.keys).toEqual([])
      expect(await revisionOf(projectId)).toBe(4)
    })

    test('an API key is created once', async () => {
      const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: 'ci', role: 'reader' })
      const before = await revisionOf(systemLedgerId)
      proxy.cutAt(commit, when)
      await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
      expect(await findApiKeyByDigest(store.reader, apiKey.digest)).toEqual(apiKey)
      expect(await revisionOf(systemLedgerId)).toBe((before ?? 0) + 1)
    })

    test('an access rule is created once', async () => {
      const rule = accessRuleRecord()
      const before = await revisionOf(systemLedgerId)
      proxy.cutAt(commit, when)
      const created = store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
      expect(await created).toEqual(rule)
      expect(await readAccessRules(store.reader)).toContainEqual(rule)
      expect(await revisionOf(systemLedgerId)).toBe((before ?? 0) + 1)
    })

    test('a session is created once, and ended once', async () => {
      const session = sessionRecord({ apiKeyId: newId() })
      const before = await revisionOf(systemLedgerId)
      proxy.cutAt(commit, when)
      const creation = { origin: origin(), session }
      const created = store.commit(signInChanges.createSession, creation)
      expect(await created).toEqual(session)
      proxy.cutAt(commit, when)
      const ended = { ids: [session.id] }
      const end = { origin: origin(), ended, reason: 'revoked' as const, once: tokenUse() }
      expect(await store.commit(signInChanges.endSessions, end)).toBe(1)
      expect(await sessions.find(store.reader, session.id)).toBeUndefined()
      expect(await revisionOf(systemLedgerId)).toBe((before ?? 0) + 3)
    })

    test('a token is exchanged once, although it can be used only once', async () => {
      const rule = accessRuleRecord({ projectId })
      await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
      const apiKey = exchangedKeyRecord(rule)
      proxy.cutAt(commit, when)
      const exchange = { apiKey, rule, matched: [], once: tokenUse() }
      await store.commit(exchangeChanges.exchangeToken, { origin: origin(), ...exchange })
      expect(await apiKeys.find(store.reader, apiKey.id)).toEqual(apiKey)
      expect(await revisionOf(projectId)).toBe(3)
    })

    test('a submitted private key is recorded once', async () => {
      const { thumbprint, materialSha256 } = keyRecord(projectId)
      const exposed = { thumbprint, materialSha256 }
      proxy.cutAt(commit, when)
      await store.commit(keyChanges.refusePrivateKey, { origin: origin(), projectId, exposed })
      expect(await isBlocked(store.reader, exposed)).toBe(true)
      expect(await revisionOf(projectId)).toBe(2)
    })
  },
)

test('if the connection breaks in the middle of a change, the change is made once', async () => {
  const key = keyRecord(projectId)
  proxy.cutAt('insert into "jwt_key"', 'after')
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  expect(await keySetOf(store, projectId)).toEqual({
    name: expect.any(String),
    revision: 2,
    head: expect.any(String),
    keys: [key],
  })
})

describe('if the connection breaks while the server commits a change that opens a ledger', () => {
  /** Lets the first transaction with an event wait in its commit, until the change is tried again. */
  async function commitDuringRetry(change: () => Promise<unknown>): Promise<void> {
    await database.query(`
      create sequence commits;
      create function hold_first() returns trigger language plpgsql as $$ begin
        if nextval('commits') = 1 then perform pg_advisory_xact_lock(1); end if;
        return null;
      end $$;
      create constraint trigger hold_first after insert on event deferrable initially deferred
        for each row execute function hold_first()`)
    endLater(() => database.query('drop function hold_first cascade; drop sequence commits'))
    const holder = new pg.Client(database.url)
    await holder.connect()
    endLater(() => holder.end())
    await holder.query('select pg_advisory_lock(1)')
    proxy.cutAt(commit, 'after')
    const changing = change()
    changing.catch(() => undefined)
    const waiting = "select pid from pg_stat_activity where wait_event = 'transactionid'"
    await expect.poll(() => database.query(waiting)).toHaveLength(1)
    await holder.query('select pg_advisory_unlock(1)')
    await changing
  }

  test('a project is created once, and not rejected for its own name', async () => {
    const name = `n-${newId().slice(-12)}`
    await commitDuringRetry(() => createProject(store, name))
    expect(await findProjectRecord(store.reader, { name })).toMatchObject({ revision: 1 })
  })

  test('a token is exchanged once', async () => {
    const rule = accessRuleRecord()
    await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
    const apiKey = exchangedKeyRecord(rule)
    const exchange = { origin: origin(), apiKey, rule, matched: [], once: tokenUse() }
    await commitDuringRetry(() => store.commit(exchangeChanges.exchangeToken, exchange))
    // The use of the token, and the API key.
    expect(await revisionOf(exchangeLedgerId)).toBe(2)
  })
})

/** Lets a commit of a new key fail with an error of the disk if the condition is true. */
async function failCommitsIf(condition: string): Promise<void> {
  await database.query(`
    create function fail_commit() returns trigger language plpgsql as $$ begin
      if ${condition} then raise exception using errcode = '58030'; end if;
      return null;
    end $$;
    create constraint trigger fail_commit after insert on jwt_key deferrable initially deferred
      for each row execute function fail_commit()`)
  endLater(() => database.query('drop function fail_commit cascade'))
}

test('if the commit fails with an error of the disk, the ledger tells whether the change was made', async () => {
  await database.query('create sequence failures')
  await failCommitsIf("nextval('failures') = 1")
  const key = keyRecord(projectId)
  const made = await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  expect(made).toEqual(key)
  expect(await revisionOf(projectId)).toBe(2)
})

test('if the ledger lacks the change and the next attempt is rejected, the error says that nothing was changed', async () => {
  await database.query(`
    create sequence attempts;
    create function reject_second() returns trigger language plpgsql as $$ begin
      if nextval('attempts') = 2 then raise exception using errcode = '53100'; end if;
      return new;
    end $$;
    create trigger reject_second before insert on jwt_key
      for each row execute function reject_second()`)
  endLater(() => database.query('drop trigger reject_second on jwt_key'))
  await failCommitsIf('(select last_value from attempts) = 1')
  const creation = { origin: origin(), key: keyRecord(projectId), limits }
  await expect(store.commit(keyChanges.createKey, creation)).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: 'The disk is full. Nothing was changed.',
  })
  expect(await revisionOf(projectId)).toBe(1)
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
    const creating = store.commit(keyChanges.createKey, { origin: origin(), key, limits })
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
  // It tries to connect for as long as this, to learn the outcome.
  const impatient = await openStore(address.replace('connect_timeout=60', 'connect_timeout=10'))
  endLater(() => impatient.close())
  proxy.cutAt(commit, 'after', () => proxy.block())
  const creating = impatient.commit(keyChanges.createKey, { origin: origin(), key, limits })
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
