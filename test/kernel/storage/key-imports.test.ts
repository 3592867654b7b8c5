import { beforeEach, expect, test } from 'vitest'
import { genesisHash } from '../../../packages/client/src/log/chain.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { eventHash } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { fixture } from '../../support/keys/intake.ts'
import { modulusOf, rsaRecord } from '../../support/keys/weak-keys.ts'
import { keyImport, keyRecord } from '../../support/store/key-records.ts'
import { createProject, openTestStore } from '../../support/store/store.ts'

let projectId: string

const opened = await openTestStore()
const store = opened.store

beforeEach(async () => {
  projectId = (await createProject(store, `p-${newId().slice(-12)}`)).id
})

const records = (count: number) => Array.from({ length: count }, () => keyRecord(projectId))
const revision = async () => (await store.heads([projectId])).get(projectId)?.revision

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
  const keys = records(3)
  await store.commit(keyChanges.importKeys, keyImport(keys, { kidProvided: true }))
  expect(await opened.database.query('select fingerprint from blocked_fingerprint')).toEqual([])
})

test('the keys that have had a kid are found by an index', async () => {
  const lookup = `select subject_id, changes from event where subject_id in ('a', 'b') and type = 'key.created'`
  const { engine, query } = opened.database
  await store.commit(keyChanges.importKeys, keyImport(records(600)))
  await query('analyze event')
  const explain = engine === 'postgres' ? 'explain' : 'explain query plan'
  const plan = JSON.stringify(await query(`${explain} ${lookup}`))
  expect(plan).toMatch(/event_(by_)?subject/)
})
