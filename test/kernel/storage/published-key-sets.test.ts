import { beforeEach, describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import {
  digestsOf,
  publish,
  publishedAt,
} from '../../../packages/server/src/features/keys/published/texts.ts'
import {
  readKeySet,
  readPublishedRows,
  toPublishedKeySet,
} from '../../../packages/server/src/features/keys/reads.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { rotationChanges } from '../../../packages/server/src/features/rotations/changes.ts'
import { kernelChanges } from '../../../packages/server/src/kernel/kernel-changes.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { isWhole } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { keyImport, keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()
const { store, database } = opened

let projectId: string
beforeEach(async () => {
  projectId = (await createProject(store, `p-${newId().slice(-12)}`)).id
})

const time = (second: number) => `2026-01-02T03:05:${String(second).padStart(2, '0')}.000Z`
const create = (members: Partial<KeyRecord> = {}, by = store) =>
  by.commit(keyChanges.createKey, {
    origin: origin(),
    key: keyRecord(projectId, members),
    limits,
  })
const patch = (kid: string, changed: object, second = 0) =>
  store.commit(keyChanges.updateKey, {
    origin: origin(time(second)),
    projectId,
    kid,
    patch: changed,
    limits,
  })
const read = async (now = time(59)) => {
  const row = (await readPublishedRows(store.reader, [projectId])).get(projectId)
  return row && toPublishedKeySet(row, now)
}
const kids = async (now = time(59)) => {
  const texts = (await read(now))?.texts
  const { keys }: { keys: { kid: string }[] } = JSON.parse(publishedAt(texts ?? none, now).jwks)
  return keys.map(({ kid }) => kid)
}
const none = publish([], '', false)

async function differences() {
  const ledgers = await openLedgerReader(database.url)
  const found = await Array.fromAsync(verifyLedgers(ledgers))
  await ledgers.close()
  return found.filter((verdict) => verdict.ledgerId === projectId && !isWhole(verdict))
}

/** What is served is the stored row, and the same as the active keys rendered anew. */
async function expectCurrent(now: string, hadKeys: boolean) {
  const found = await read(now)
  const keySet = await readKeySet(store.reader, projectId)
  const [event] = await readEvents(store.reader, projectId, {
    after: (found?.revision ?? 0) - 1,
    limit: 1,
  })
  expect(found && digestsOf(found.texts)).toEqual(event?.published)
  expect(found && publishedAt(found.texts, now)).toEqual(publish(keySet?.keys ?? [], now, hadKeys))
  expect(await differences()).toEqual([])
}

test('each change of a project is published by the event that records it', async () => {
  await expectCurrent(time(0), false)
  const first = await create({ enabled: false })
  await expectCurrent(time(0), false)
  await patch(first.id, { active: true })
  await expectCurrent(time(0), true)
  const second = await create({ expireTime: time(30), publishedKid: 'second' })
  const third = await create({ algorithm: 'ES256' })
  await expectCurrent(time(0), true)
  await expectCurrent(time(30), true)
  await patch(third.id, { label: 'another' }, 1)
  await expectCurrent(time(1), true)
  const older = keyRecord(projectId, { createTime: '2025-01-02T03:04:05.678Z' })
  await store.commit(keyChanges.importKeys, keyImport([older, keyRecord(projectId)]))
  await expectCurrent(time(1), true)
  expect((await kids(time(1)))[0]).toBe(older.id)
  await store.commit(projectChanges.renameProject, {
    origin: origin(time(2)),
    projectId,
    name: `q-${newId().slice(-12)}`,
  })
  await expectCurrent(time(2), true)
  await store.commit(keyChanges.reportWeakness, {
    origin: origin(time(3)),
    projectId,
    kid: third.id,
    weaknesses: ['key_known_compromised'],
    deactivate: true,
  })
  await expectCurrent(time(3), true)
  const rotation = { origin: origin(time(4)), projectId, id: newId(), jwksMaxAge: 60 }
  const replaced = { from: first.id, to: older.id, tokenLifetime: 10 }
  await store.commit(rotationChanges.startRotation, { ...rotation, ...replaced })
  await expectCurrent(time(4), true)
  const finish = { ...rotation, origin: origin('2026-01-02T03:20:00.000Z') }
  await store.commit(rotationChanges.finishRotation, finish)
  await expectCurrent('2026-01-02T03:20:00.000Z', true)
  await expectCurrent('2026-01-02T03:21:00.000Z', true)
  await patch(second.id, { active: false })
  await store.commit(keyChanges.deleteKey, { origin: origin(), projectId, kid: second.id })
  await store.commit(keyChanges.endKey, {
    origin: origin(time(5)),
    projectId,
    kid: older.id,
    expireTime: time(6),
    once: newId(),
  })
  await expectCurrent(time(6), true)
})

test('a project that has no key left publishes the placeholder, also once it is accepted', async () => {
  const { id } = await create({ expireTime: time(10) })
  await expectCurrent(time(9), true)
  expect(await kids(time(10))).toEqual(['no-active-key'])
  await create({ enabled: false })
  expect(await kids(time(10))).toEqual(['no-active-key'])
  await patch(id, { active: false }, 12)
  await store.commit(keyChanges.deleteKey, { origin: origin(time(13)), projectId, kid: id })
  await expectCurrent(time(13), true)
  await store.commit(kernelChanges.acceptLedger, { origin: origin(time(14)), ledgerId: projectId })
  await expectCurrent(time(14), true)
  expect(await kids(time(14))).toEqual(['no-active-key'])
})

test('a deleted project has no row, and its ledger is whole', async () => {
  await store.commit(projectChanges.deleteProject, { origin: origin(), projectId })
  expect(await read()).toBeUndefined()
  const rows = database.query('select 1 from published_key_set where project_id = ?', projectId)
  expect(await rows).toEqual([])
  expect(await differences()).toEqual([])
})

const set = (column: string, value: string | null) =>
  database.execute(
    `update published_key_set set ${column} = ? where project_id = ?`,
    value,
    projectId,
  )

/** The JWKS with a key that was never registered. */
const forged = () => publish([keyRecord(projectId)], time(0), true)

describe.each([
  ['that remembers what it published', store],
  ['that has just started', (await openTestStore(database)).store],
])(
  'a person with write access to the database alters what is published before a change by a process %s',
  (_process, next) => {
    const createNext = () => create({}, next)
    test.each<[string, () => Promise<unknown>]>([
      ['the key set', () => set('jwks', forged().jwks)],
      ['the full key set', () => set('jwks_full', forged().jwks)],
      ['the list', () => set('list', forged().list)],
      ['a text that is no JSON', () => set('list', '[')],
      [
        'all columns',
        async () => {
          await set('jwks', forged().jwks)
          await set('list', forged().list)
        },
      ],
      [
        'the row, which is deleted',
        () => database.execute('delete from published_key_set where project_id = ?', projectId),
      ],
      [
        'the digests of the last event',
        () =>
          database.execute(
            'update event set published = ? where project_id = ?',
            JSON.stringify(digestsOf(forged())),
            projectId,
          ),
      ],
      [
        'the digests, which are deleted',
        () => database.execute('update event set published = null'),
      ],
    ])('%s: it is not served, and found', async (_name, tamper) => {
      const key = await create()
      await tamper()
      expect(await kids()).toEqual([key.id])
      expect(await differences()).not.toEqual([])
      expect(store.contradictions.count()).toBeGreaterThan(0)
      // The next change publishes what the keys are.
      const other = await createNext()
      expect(await kids()).toEqual([key.id, other.id])
    })

    const published = async () => {
      const row = 'select list, jwks, jwks_full from published_key_set where project_id = ?'
      const event =
        'select published from event where project_id = ? order by revision desc limit 1'
      const [found] = await database.query(row, projectId)
      return { ...found, ...(await database.query(event, projectId))[0] }
    }
    /** Sets the row together with the digests of the last event. */
    const setBoth = async (columns: Record<string, unknown>) => {
      const { published, ...row } = columns
      for (const [column, value] of Object.entries(row)) await set(column, value as string | null)
      const [last] = await database.query(
        'select max(revision) as revision from event where project_id = ?',
        projectId,
      )
      const event = 'update event set published = ? where project_id = ? and revision = ?'
      await database.execute(event, published as string, projectId, Number(last?.revision))
      return Number(last?.revision)
    }
    const rename = () =>
      next.commit(projectChanges.renameProject, {
        origin: origin(time(2)),
        projectId,
        name: `q-${newId().slice(-12)}`,
      })
    const putBack = (revision: number, digests: unknown) => {
      const event = 'update event set published = ? where project_id = ? and revision = ?'
      return database.execute(event, digests as string, projectId, revision)
    }

    test.each([
      ['renamed', rename, 0],
      ['given another key', createNext, 1],
    ] as const)(
      'the row together with the last event, until the project is %s: the ledger does not repeat it',
      async (_name, change, added) => {
        const key = await create()
        const genuine = await published()
        const texts = forged()
        const { list, jwks } = texts
        const digests = JSON.stringify(digestsOf(texts))
        const revision = await setBoth({ list, jwks, published: digests })
        await change()
        await putBack(revision, genuine.published)
        expect((await kids()).slice(0, 1)).toEqual([key.id])
        expect(await kids()).toHaveLength(1 + added)
        // The row is whole again where the change was of a key.
        expect((await differences()).length).toBe(1 - added)
        await create()
        await expectCurrent(time(59), true)
      },
    )

    test('the row of a compromised key, put back with its last event: it is not published again', async () => {
      const { id } = await create()
      const before = await published()
      await patch(id, { active: false, reason: 'compromised' })
      const after = await published()
      const revision = await setBoth(before)
      await rename()
      await putBack(revision, after.published)
      expect(await kids()).toEqual(['no-active-key'])
      expect(await differences()).not.toEqual([])
    })

    test('the row, deleted before the first key: the placeholder does not appear', async () => {
      await database.execute('delete from published_key_set where project_id = ?', projectId)
      await create({ enabled: false })
      await expectCurrent(time(0), false)
    })

    test('the row, which is put back as it was before a key was deactivated', async () => {
      const { id } = await create()
      const row = 'select list, jwks from published_key_set where project_id = ?'
      const [before] = await database.query(row, projectId)
      await patch(id, { active: false })
      await set('list', String(before?.list))
      await set('jwks', String(before?.jwks))
      expect(await kids()).toEqual(['no-active-key'])
      expect(await differences()).not.toEqual([])
      // Nor is it when the key is, so that no event says that it is active again.
      await database.execute('update jwt_key set enabled = 1 where id = ?', id)
      expect(await kids()).toEqual(['no-active-key'])
    })

    test('a key: what was registered is published until a change', async () => {
      const key = await create()
      const { jwk, publicKeyPem, ...rest } = keyRecord(projectId)
      await database.execute(
        'update jwt_key set jwk = ?, public_key_pem = ?, thumbprint = ?, spki_sha256 = ? where id = ?',
        ...[JSON.stringify(jwk), publicKeyPem, rest.thumbprint, rest.spkiSha256, key.id],
      )
      const genuine = publish([key], time(0), true)
      expect((await read())?.texts).toEqual(genuine)
      const other = await createNext()
      expect((await read())?.texts).toEqual(publish([key, other], time(0), true))
      await patch(other.id, { label: 'another' })
      expect(await kids()).toEqual([other.id])
    })
  },
)
