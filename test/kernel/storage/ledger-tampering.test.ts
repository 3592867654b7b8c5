import { beforeEach, describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { eventTable } from '../../../packages/server/src/kernel/ledger/stored.ts'
import { verifyLedger } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { columnsOf } from '../../../packages/server/src/kernel/storage/schema.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { openLedgerReader, openStore } from '../../../packages/server/src/registry.ts'
import { createDatabase, type TestDatabase } from '../../support/store/database.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, origin } from '../../support/store/store.ts'

let database: TestDatabase

const original = await createDatabase()
const store = await openStore(original.url)
/** A project with six events, and a deleted one with two. */
const projectId = (await createProject(store, 'payments')).id
const deletedId = (await createProject(store, 'short-lived')).id
await store.commit(projectChanges.deleteProject, { origin: origin(), projectId: deletedId })
for (const label of ['a', 'b', 'c', 'd', 'e']) {
  const key = keyRecord(projectId, { label })
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
}
await store.close()

beforeEach(async () => {
  database = await original.copy()
})

/** Alters the database behind the server's back. */
async function tamper(statement: string, ...values: (string | number)[]): Promise<void> {
  expect(await database.execute(statement, ...values)).toBeGreaterThan(0)
}

/** The only break; the other ledgers are intact. */
async function findOnlyBreak() {
  const ledgers = await openLedgerReader(database.url)
  const verdicts = await Array.fromAsync(verifyLedgers(ledgers))
  await ledgers.close()
  expect(verdicts).toHaveLength(3)
  const broken = verdicts.filter((verdict) => verdict.broken !== undefined)
  expect(broken).toHaveLength(1)
  return { ledgerId: broken[0]?.ledgerId, ...broken[0]?.broken }
}

describe('an edited event is found', () => {
  test.each([
    ['type', 'key.deleted'],
    ['time', '2026-01-02T03:04:05.679Z'],
    ['actor_id', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
    ['actor_name', 'nobody'],
    ['subject_type', 'project'],
    ['subject_id', newId()],
    ['changes', '{"label":{"to":"another"}}'],
    ['request_id', newId()],
    ['hash', 'f'.repeat(64)],
  ])('in the column %s', async (column, value) => {
    await tamper(
      `update event set ${column} = ? where project_id = ? and revision = 4`,
      value,
      projectId,
    )
    const found = await findOnlyBreak()
    expect(found).toMatchObject({ ledgerId: projectId, revision: 4 })
    expect(found.detail).toMatch(/^event 4 \(key\.(created|deleted), .*\) was altered or moved/)
  })

  test.each([
    ['an empty text', ''],
    ['half of an object', '{'],
    ['an array', '[]'],
    ['a number', '7'],
    ['changes that are numbers', '{"a":1}'],
    ['changes to arrays', '{"a":{"to":[]}}'],
    ['200,000 brackets', '['.repeat(200_000)],
  ])('with %s as changes', async (_name, changes) => {
    await tamper(
      'update event set changes = ? where project_id = ? and revision = 4',
      changes,
      projectId,
    )
    const found = await findOnlyBreak()
    expect(found).toMatchObject({ ledgerId: projectId, revision: 4 })
    expect(found.detail).toBe('event 4 was altered: it cannot be read')
  })

  test('without its changes', async () => {
    await tamper('update event set changes = null where project_id = ? and revision = 4', projectId)
    expect(await findOnlyBreak()).toMatchObject({ revision: 4 })
  })

  test('with a recomputed hash, at the next event', async () => {
    const ledgers = await openLedgerReader(database.url)
    const set = 'update event set actor_name = ? where project_id = ? and revision = 4'
    await tamper(set, 'nobody', projectId)
    const { broken } = await verifyLedger(ledgers, projectId)
    await ledgers.close()
    const [, hash = ''] = /give the hash (\w+)/.exec(broken?.detail ?? '') ?? []
    await tamper('update event set hash = ? where project_id = ? and revision = 4', hash, projectId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 5 })
  })

  test('in the system’s ledger', async () => {
    await tamper('update event set time = ? where project_id = ?', '2020-01-01', systemLedgerId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: systemLedgerId, revision: 1 })
  })

  test('in the ledger of a deleted project', async () => {
    await tamper(
      'update event set actor_name = ? where project_id = ? and revision = 2',
      'x',
      deletedId,
    )
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: deletedId, revision: 2 })
  })
})

describe('a missing, moved or added event is found', () => {
  test.each([
    [1, 'event 1 is missing: the one that follows has the revision 2'],
    [4, 'event 4 is missing: the one that follows has the revision 5'],
    [6, 'event 6 is missing: the head says 6, the last event is 5'],
  ])('event %i is deleted', async (revision, detail) => {
    await tamper('delete from event where project_id = ? and revision = ?', projectId, revision)
    expect(await findOnlyBreak()).toEqual({ ledgerId: projectId, revision, detail })
  })

  test('the last three are deleted', async () => {
    await tamper('delete from event where project_id = ? and revision > 3', projectId)
    expect(await findOnlyBreak()).toMatchObject({
      revision: 4,
      detail: 'the last events are missing: the head says 6, the last event is 3',
    })
  })

  test('all are deleted', async () => {
    await tamper('delete from event where project_id = ?', projectId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 1 })
  })

  test('two are swapped', async () => {
    const move = 'update event set revision = ? where project_id = ? and revision = ?'
    await tamper(move, 99, projectId, 3)
    await tamper(move, 3, projectId, 4)
    await tamper(move, 4, projectId, 99)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 3 })
  })

  test('one is deleted and the gap closed', async () => {
    await tamper('delete from event where project_id = ? and revision = 3', projectId)
    for (const revision of [4, 5, 6]) {
      const move = 'update event set revision = ? where project_id = ? and revision = ?'
      await tamper(move, revision - 1, projectId, revision)
    }
    await tamper('update ledger set revision = 5 where project_id = ?', projectId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 3 })
  })

  test.each([7, 0, -1])('one is copied to revision %i', async (revision) => {
    await tamper(
      `insert into event (${columnsOf(eventTable)}) select
       ${columnsOf(eventTable).map((name) => (name === 'revision' ? revision : name))} from event
       where project_id = ? and revision = 6`,
      projectId,
    )
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId })
  })

  test('the revision of one is not an integer', async () => {
    const edit = "update event set revision = 'x' where project_id = ? and revision = 6"
    if (database.engine === 'postgres') {
      await expect(tamper(edit, projectId)).rejects.toThrow(/bigint/)
      return
    }
    await tamper(edit, projectId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, revision: 6 })
  })
})

describe('an altered head is found', () => {
  test('its hash is replaced', async () => {
    await tamper('update ledger set hash = ? where project_id = ?', '0'.repeat(64), projectId)
    const found = await findOnlyBreak()
    expect(found).toMatchObject({ ledgerId: projectId, revision: 6 })
    expect(found.detail).toContain(`the head was altered: its hash is ${'0'.repeat(64)}`)
  })

  test.each([
    [5, 'the head was altered: it says revision 5, the last event is 6'],
    [0, 'the head was altered: it says revision 0, the last event is 6'],
    [7, 'event 7 is missing: the head says 7, the last event is 6'],
  ])('its revision is %i', async (revision, detail) => {
    await tamper('update ledger set revision = ? where project_id = ?', revision, projectId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: projectId, detail })
  })

  test('it is deleted', async () => {
    await tamper('delete from ledger where project_id = ?', projectId)
    const detail = 'the head of the ledger is missing'
    expect(await findOnlyBreak()).toEqual({ ledgerId: projectId, revision: 6, detail })
  })

  test('that of the system is deleted with all its events', async () => {
    await tamper('delete from event where project_id = ?', systemLedgerId)
    await tamper('delete from ledger where project_id = ?', systemLedgerId)
    expect(await findOnlyBreak()).toMatchObject({ ledgerId: systemLedgerId })
  })

  test('it is deleted with all events: the system’s ledger has recorded its project', async () => {
    await tamper('delete from event where project_id = ?', projectId)
    await tamper('delete from ledger where project_id = ?', projectId)
    const detail = 'the whole ledger is missing'
    expect(await findOnlyBreak()).toEqual({ ledgerId: projectId, revision: 0, detail })
  })
})
