import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { accessRuleChanges } from '../../packages/server/src/features/access-rules/changes.ts'
import { apiKeyChanges } from '../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../packages/server/src/features/api-keys/operations.ts'
import { apiKeys } from '../../packages/server/src/features/api-keys/stored.ts'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { isBlocked } from '../../packages/server/src/features/keys/exposure/fingerprints.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { changeTag } from '../../packages/server/src/features/keys/states.ts'
import type { KeyRecord } from '../../packages/server/src/features/keys/stored.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import { signInChanges } from '../../packages/server/src/features/sign-in/changes.ts'
import { exchangeChanges } from '../../packages/server/src/features/token-exchange/changes.ts'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { findProjectRecord } from '../../packages/server/src/kernel/access/stored-projects.ts'
import type { ChangeKind, Origin } from '../../packages/server/src/kernel/changes.ts'
import { exchangeLedgerId, systemLedgerId } from '../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { endLater } from '../support/ending.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { accessRuleRecord, exchangedKeyRecord } from '../support/store/access-records.ts'
import { createDatabase } from '../support/store/database.ts'
import { keyImport, keyRecord } from '../support/store/key-records.ts'
import { sessionRecord } from '../support/store/sessions.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'
import { waitFor } from '../support/waiting.ts'

const database = await createDatabase('postgres')
const { port } = new URL(database.url)
const proxy = await startTcpProxy(Number(port))
const address = database.url.replace(port, String(proxy.port))
const { store } = await openTestStore({ ...database, url: address })

/** As on the wire; "read committed" must not match. */
const commit = 'commit\0'

let projectId: string
beforeEach(async () => {
  // The store may still be connecting after the fault of the test before.
  const creating = () => createProject(store, `p-${newId().slice(-12)}`)
  projectId = (await waitFor(creating)).id
})

const revisionOf = async (ledgerId: string) =>
  (await store.heads([ledgerId])).get(ledgerId)?.revision ?? 0

/** A change that is about to be made. */
interface Prepared {
  make(): Promise<unknown>
  /** What it resolves with. */
  result?: unknown
  /** Reads what it leaves, and expects it; for a change that resolves with nothing. */
  check?(): Promise<void>
  /** The ledger in which it leaves its events. */
  ledgerId: string
  events: number
}

function prepared<Change extends { origin: Origin }, Result>(
  kind: ChangeKind<Change, Result>,
  members: Omit<Change, 'origin'>,
  { ledgerId = projectId, events = 1, ...expected }: Partial<Prepared> = {},
): Prepared {
  const change = { origin: origin(), ...members } as Change
  return { make: () => store.commit(kind, change), ledgerId, events, ...expected }
}
const inSystem = { ledgerId: systemLedgerId }

async function newKey(members: Partial<KeyRecord> = {}): Promise<KeyRecord> {
  const key = keyRecord(projectId, members)
  return store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}

/** A change and a deletion of a key by one of its names. */
const ofNamedKey = (name: string, kidOf: (key: KeyRecord) => string): Prepares => ({
  [`the change of a key by its ${name}`]: async () => {
    const key = await newKey({ publishedKid: 'orders-2026' })
    const ifMatch = changeTag(key, origin().time)
    const patch = { active: false }
    const change = { projectId, kid: kidOf(key), patch, limits, ifMatch }
    const result = expect.objectContaining({ key: expect.objectContaining({ enabled: false }) })
    return prepared(keyChanges.updateKey, change, { result })
  },
  [`the deletion of a key by its ${name}`]: async () => {
    const key = await newKey({ publishedKid: 'orders-2026', enabled: false })
    return prepared(
      keyChanges.deleteKey,
      { projectId, kid: kidOf(key) },
      { check: async () => expect((await keySetOf(store, projectId))?.keys).toEqual([]) },
    )
  },
})

type Prepares = Record<string, () => Promise<Prepared>>

const changes: Prepares = {
  'the creation of a key': async () => {
    const key = keyRecord(projectId)
    return prepared(keyChanges.createKey, { key, limits }, { result: key })
  },
  'an import': async () => {
    const keys = [keyRecord(projectId), keyRecord(projectId)]
    const items = keys.map(({ id }) => ({ outcome: 'created', kid: id }))
    const result = expect.objectContaining({ items, rejected: [] })
    return prepared(keyChanges.importKeys, keyImport(keys), { result, events: 2 })
  },
  ...ofNamedKey('id', ({ id }) => id),
  ...ofNamedKey('id in upper case', ({ id }) => id.toUpperCase()),
  ...ofNamedKey('published kid', ({ publishedKid = '' }) => publishedKid),
  'the creation of a project, which is not rejected for its own name': async () => {
    const [id, name] = [newId(), `n-${newId().slice(-12)}`]
    const result = expect.objectContaining({ id, revision: 1 })
    return prepared(projectChanges.createProject, { id, name }, { result, ...inSystem })
  },
  'the deletion of a project': async () =>
    prepared(
      projectChanges.deleteProject,
      { projectId },
      {
        check: async () =>
          expect(await findProjectRecord(store.reader, { id: projectId })).toBeUndefined(),
      },
    ),
  'the creation of an API key': async () => {
    const { time } = origin()
    const apiKey = apiKeyRecord(newApiKeySecret(), time, { name: 'ci', role: 'reader' })
    return prepared(apiKeyChanges.createApiKey, { apiKey }, { result: apiKey, ...inSystem })
  },
  'the creation of an access rule': async () => {
    const rule = accessRuleRecord()
    return prepared(accessRuleChanges.createAccessRule, { rule }, { result: rule, ...inSystem })
  },
  'the creation of a session': async () => {
    const session = sessionRecord({ apiKeyId: newId() })
    return prepared(signInChanges.createSession, { session }, { result: session, ...inSystem })
  },
  'the end of a session, by a token that can be used once': async () => {
    const session = sessionRecord({ apiKeyId: newId() })
    await store.commit(signInChanges.createSession, { origin: origin(), session })
    const end = { ended: { ids: [session.id] }, reason: 'revoked' as const, once: newId() }
    return prepared(signInChanges.endSessions, end, { result: 1, events: 2, ...inSystem })
  },
  'the exchange of a token that can be used once': async () => {
    const rule = accessRuleRecord({ projectId })
    await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
    const apiKey = exchangedKeyRecord(rule)
    return prepared(
      exchangeChanges.exchangeToken,
      { apiKey, rule, matched: [], once: newId() },
      {
        events: 2,
        check: async () => expect(await apiKeys.find(store.reader, apiKey.id)).toEqual(apiKey),
      },
    )
  },
  'the record of a submitted private key': async () => {
    const { thumbprint, materialSha256 } = keyRecord(projectId)
    const exposed = { thumbprint, materialSha256 }
    return prepared(
      keyChanges.refusePrivateKey,
      { projectId, exposed },
      { check: async () => expect(await isBlocked(store.reader, exposed)).toBe(true) },
    )
  },
}

describe.each(['before', 'after'] as const)(
  'if the connection breaks %s the server receives the commit',
  (when) => {
    test.each(Object.entries(changes))('%s is made once', async (_name, prepare) => {
      const { make, result, check, ledgerId, events } = await prepare()
      const before = await revisionOf(ledgerId)
      proxy.cutAt(commit, when)
      const made = await make()
      if (result !== undefined) expect(made).toEqual(result)
      expect(await revisionOf(ledgerId)).toBe(before + events)
      await check?.()
    })
  },
)

test('if the connection breaks in the middle of a change, the change is made once', async () => {
  const key = keyRecord(projectId)
  proxy.cutAt('insert into "jwt_key"', 'after')
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  expect(await keySetOf(store, projectId)).toMatchObject({ revision: 2, keys: [key] })
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
    const exchange = { origin: origin(), apiKey, rule, matched: [], once: newId() }
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
  const url = address.replace('connect_timeout=60', 'connect_timeout=10')
  const { store: impatient } = await openTestStore({ ...database, url })
  proxy.cutAt(commit, 'after', () => proxy.block())
  const creating = impatient.commit(keyChanges.createKey, { origin: origin(), key, limits })
  await expect(creating).rejects.toMatchObject({
    code: 'storage_unavailable',
    message: expect.stringContaining('Check whether it was made'),
  })
  proxy.restore()
  const rows = await database.query('select id from jwt_key where project_id = ?', projectId)
  const events = await database.query('select revision from event where project_id = ?', projectId)
  expect(rows).toEqual([{ id: key.id }])
  expect(events).toHaveLength(2)
})
