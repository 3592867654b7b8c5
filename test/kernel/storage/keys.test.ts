import { beforeEach, expect, test } from 'vitest'
import { genesisHash } from '../../../packages/client/src/log/chain.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { isBlocked } from '../../../packages/server/src/features/keys/exposure/fingerprints.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { publish } from '../../../packages/server/src/features/keys/published/texts.ts'
import { readKeySet, readKeySetInPages } from '../../../packages/server/src/features/keys/reads.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { eventHash } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { isoTime } from '../../../packages/server/src/kernel/values/times.ts'
import { fixture } from '../../support/keys/intake.ts'
import { rsaKey } from '../../support/keys/pem.ts'
import { modulusOf, rsaRecord } from '../../support/keys/weak-keys.ts'
import { distinctKey, keyImport, keyRecord } from '../../support/store/key-records.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const { store, database } = await openTestStore()

let projectId: string
beforeEach(async () => {
  projectId = (await createProject(store, `p-${newId().slice(-12)}`)).id
})

const create = (key: KeyRecord, maxJwksBytes = limits.maxJwksBytes) =>
  store.commit(keyChanges.createKey, {
    origin: origin(),
    key,
    limits: { ...limits, maxJwksBytes },
  })
const refusal = (code: string) => expect.objectContaining({ name: 'PubringError', code })
const records = (count: number) => Array.from({ length: count }, () => keyRecord(projectId))
const revision = async () => (await store.heads([projectId])).get(projectId)?.revision

test('a key is read back as it was written', async () => {
  const key = keyRecord(projectId, {
    label: 'ключ 🔑 "quoted"',
    expireTime: '2027-01-01T00:00:00.000Z',
    normalised: ['bom', 'line_breaks'],
  })
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  expect(await keySetOf(store, projectId)).toEqual({
    name: expect.any(String),
    revision: 2,
    head: expect.any(String),
    keys: [key],
  })
})

test('keys are listed oldest first, and by id within a millisecond', async () => {
  const late = keyRecord(projectId, { createTime: '2026-01-02T03:04:05.679Z' })
  const second = keyRecord(projectId, { id: '019ac8f2-0000-7000-8000-000000000002' })
  const first = keyRecord(projectId, { id: '019ac8f2-0000-7000-8000-000000000001' })
  for (const key of [late, second, first]) {
    await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  }
  const { keys = [] } = (await keySetOf(store, projectId)) ?? {}
  expect(keys.map(({ id }) => id)).toEqual([first.id, second.id, late.id])
})

test('20 concurrent creates fill a project exactly up to its limit', async () => {
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () =>
      store.commit(keyChanges.createKey, {
        origin: origin(),
        key: keyRecord(projectId),
        limits: { ...limits, maxKeys: 7 },
      }),
    ),
  )
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(7)
  expect((await keySetOf(store, projectId))?.keys).toHaveLength(7)
  for (const result of results) {
    if (result.status === 'rejected') {
      expect(result.reason).toMatchObject({ code: 'key_limit_reached', extras: { limit: 7 } })
    }
  }
})

test('a key counts for the limit until it has been expired for a day', async () => {
  const create = (hoursAgo: number) => {
    const expireTime = isoTime(Date.parse(origin().time) - hoursAgo * 3_600_000)
    const key = keyRecord(projectId, { expireTime })
    const one = { ...limits, maxKeys: 1 }
    return store.commit(keyChanges.createKey, { origin: origin(), key, limits: one })
  }
  await create(25)
  await create(23)
  await expect(create(0)).rejects.toEqual(refusal('key_limit_reached'))
})

test('the public key of a submitted private key is blocked by either hash', async () => {
  const { thumbprint, materialSha256 } = keyRecord(projectId)
  expect(await isBlocked(store.reader, { thumbprint, materialSha256 })).toBe(false)
  const exposed = { thumbprint, materialSha256 }
  await store.commit(keyChanges.refusePrivateKey, { origin: origin(), projectId, exposed })
  expect(await isBlocked(store.reader, { thumbprint, materialSha256: 'none' })).toBe(true)
  expect(await isBlocked(store.reader, { thumbprint: 'none', materialSha256 })).toBe(true)
  expect((await findProjectRecord(store.reader, { id: projectId }))?.revision).toBe(2)
})

test('the size limit of the key set is exact to the byte, for every type of key', async () => {
  const id = projectId
  const [later, earlier] = ['2027-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z']
  const published = [
    keyRecord(id),
    rsaRecord(id, modulusOf(rsaKey().publicKeyPem)),
    keyRecord(id, {
      algorithm: 'EdDSA',
      jwsAlgorithm: 'EdDSA',
      jwk: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) },
    }),
    keyRecord(id, {
      algorithm: 'ML-DSA-44',
      jwsAlgorithm: 'ML-DSA-44',
      jwk: { kty: 'AKP', alg: 'ML-DSA-44', pub: 'A'.repeat(1_750) },
    }),
    keyRecord(id, { expireTime: later }),
  ]
  const [first = keyRecord(id)] = published
  const alone = publish([first], origin().time, false).jwksFull
  const refused = refusal('jwks_too_large')
  await expect(create(first, alone.length - 1)).rejects.toEqual(refused)
  for (const key of published) await create(key)
  await create(keyRecord(id, { enabled: false }))
  await create(keyRecord(id, { expireTime: earlier }))
  const next = keyRecord(id)
  const bytes = Buffer.byteLength(publish([...published, next], origin().time, false).jwksFull)
  await expect(create(next, bytes - 1)).rejects.toEqual(refused)
  expect(await create(next, bytes)).toEqual(next)
})

test('inactive keys do not count for the size limit, until they are activated', async () => {
  const { id: kid } = await create(keyRecord(projectId, { enabled: false }), 20)
  const small = { ...limits, maxJwksBytes: 20 }
  const change = { origin: origin(), projectId, kid, patch: { active: true }, limits: small }
  const activated = store.commit(keyChanges.updateKey, change)
  await expect(activated).rejects.toEqual(refusal('jwks_too_large'))
})

test('more keys than fit in one statement are all imported, with a valid chain of events', async () => {
  const keys = records(1_100)
  const { items, rejected } = await store.commit(keyChanges.importKeys, keyImport(keys))
  expect({ items: items.length, rejected }).toEqual({ items: 1_100, rejected: [] })
  const found = await keySetOf(store, projectId)
  expect(found?.revision).toBe(1_101)
  expect(new Set(found?.keys.map(({ id }) => id))).toEqual(new Set(keys.map(({ id }) => id)))
  const events = await readEvents(store.reader, projectId, { after: 0, limit: 2_000 })
  let previous = genesisHash
  for (const [index, { hash, ...content }] of events.entries()) {
    expect(content.revision).toBe(index + 1)
    expect(hash).toBe(eventHash(previous, content))
    previous = hash
  }
  // The next change extends the chain.
  await store.commit(keyChanges.importKeys, keyImport(records(1)))
  const [next] = await readEvents(store.reader, projectId, { after: 1_101, limit: 1 })
  expect(next?.hash).toBe(next && eventHash(previous, next))
})

test('an RSA key registered after the comparison is compared under the lock', async () => {
  const [one, two] = ['a', 'b'].map((name) =>
    rsaRecord(projectId, modulusOf(fixture(`keys/rsa/shared-prime-${name}.pem`))),
  )
  if (one === undefined || two === undefined) throw new Error('no records')
  await store.commit(keyChanges.importKeys, keyImport([one]))
  const { rejected } = await store.commit(keyChanges.importKeys, keyImport([two]))
  expect(rejected).toMatchObject([{ pointer: '/keys/0/publicKeyPem', code: 'rsa_shared_prime' }])
  expect(await revision()).toBe(2)
})

test('no lock on kids or fingerprints remains after the commit', async () => {
  const blocked = () => database.query('select fingerprint from blocked_fingerprint')
  const before = await blocked()
  await store.commit(keyChanges.importKeys, keyImport(records(3), { kidProvided: true }))
  expect(await blocked()).toEqual(before)
})

test('the keys that have had a kid are found by an index', async () => {
  const lookup = `select subject_id, changes from event where subject_id in ('a', 'b') and type = 'key.created'`
  const { engine, query } = database
  await store.commit(keyChanges.importKeys, keyImport(records(600)))
  await query('analyze event')
  const explain = engine === 'postgres' ? 'explain' : 'explain query plan'
  const plan = JSON.stringify(await query(`${explain} ${lookup}`))
  expect(plan).toMatch(/event_(by_)?subject/)
})

test('thousands of keys are read in pages, and are of one revision even if one changes meanwhile', async () => {
  const template = keyRecord(projectId)
  const keys = [template, ...Array.from({ length: 1_199 }, () => distinctKey(template))]
  const imported = keyImport(keys)
  await store.commit(keyChanges.importKeys, imported)
  const sizes: number[] = []
  let meanwhile = async () => {}
  const db = observedReads(store.reader, {
    async read(rows) {
      sizes.push(rows)
      await meanwhile()
    },
  })
  const before = await readKeySetInPages(db, projectId)
  expect(sizes).toEqual([500, 500, 200])
  expect(before).toEqual(await readKeySet(store.reader, projectId))
  expect(before?.keys.map(({ id }) => id)).toEqual(keys.map(({ id }) => id).toSorted())
  meanwhile = async () => {
    meanwhile = async () => {}
    const patch = { label: 'changed' }
    const kid = keys[0]?.id ?? ''
    await store.commit(keyChanges.updateKey, {
      origin: origin(),
      projectId,
      kid,
      patch,
      limits: imported.limits,
    })
  }
  const after = await readKeySetInPages(db, projectId)
  expect(after).toEqual(await readKeySet(store.reader, projectId))
  expect(after?.keys[0]?.label).toBe('changed')
})
