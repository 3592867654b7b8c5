import type { RootOperationNode } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import {
  type EventPlace,
  type RegistryFilter,
  readAllLedgers,
} from '../../../packages/server/src/features/events/history.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import {
  type LedgerEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { openReads } from '../../../packages/server/src/kernel/storage/open.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { distinctKey, keyImport, keyRecord } from '../../support/store/key-records.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, openTestStore, origin } from '../../support/store/store.ts'

const day = (number: number) => `2026-02-0${number}T00:00:00.000Z`
const ada = { issuer: 'https://id.example.com', subject: 'ada', sessionId: newId() }
const requestId = newId()

const opened = await openTestStore()
const { store } = opened
const projectId = (await createProject(store, 'large')).id
const otherId = (await createProject(store, 'small')).id
const template = keyRecord(projectId)
// More than one call examines.
const keys = Array.from({ length: 2_500 }, () => distinctKey(template))
const imported = { ...origin(day(2)), requestId }
await store.commit(keyChanges.importKeys, keyImport(keys, { origin: imported }))
const own = { ...origin(day(1)), actor: { name: '', user: ada } }
await store.commit(projectChanges.renameProject, {
  origin: own,
  projectId: otherId,
  name: 'renamed',
})
const later = { ...origin(day(3)), actor: { name: '', user: ada } }
await store.commit(projectChanges.renameProject, {
  origin: later,
  projectId: otherId,
  name: 'again',
})
const { db, close } = await openReads(opened.database.url)
afterAll(close)

/** All pages of what matches, and the number of pages. */
async function allOf(filter: RegistryFilter, limit = 200) {
  const events = []
  let before: EventPlace | undefined
  let pages = 0
  do {
    const page = { filter, limit, ...(before === undefined ? {} : { before }) }
    const found = await readAllLedgers(opened.store.reader, page)
    expect(found.events.length).toBeLessThanOrEqual(limit)
    events.push(...found.events)
    before = found.next
    pages += 1
  } while (before !== undefined)
  return { events, pages }
}

test('all events come newest first, each once, over ledgers and pages', async () => {
  const { events } = await allOf({})
  expect(events.length).toBeGreaterThan(2_500)
  expectNewestFirst(events)
})

test.each([1, 2, 200])('so do those of a subject of two ledgers, %i in a page', async (limit) => {
  const { events } = await allOf({ subjects: [otherId] }, limit)
  expect(events.map(({ ledgerId }) => ledgerId)).toEqual([
    ...[otherId, systemLedgerId, otherId, systemLedgerId, otherId, systemLedgerId],
  ])
  expectNewestFirst(events)
})

test('those of one project come in the order of its ledger', async () => {
  const { events } = await allOf({ projectId: otherId }, 1)
  expect(events.map(({ revision }) => revision)).toEqual([3, 2, 1])
})

function expectNewestFirst(events: readonly LedgerEvent[]) {
  const places = events.map(({ ledgerId, revision }) => `${ledgerId} ${revision}`)
  expect(new Set(places).size).toBe(places.length)
  const times = events.map(({ time }) => time)
  expect(times).toEqual(times.toSorted().reverse())
}

test.each<[string, () => RegistryFilter, number]>([
  ['a person', () => ({ people: ['ada'] }), 4],
  ['a person in a project', () => ({ people: ['ada'], projectId: otherId }), 2],
  ['a person in a time', () => ({ people: ['ada'], from: day(2), to: day(4) }), 2],
  ['types', () => ({ types: ['project.renamed', 'key.deleted'] }), 4],
  ['a type that is rare in a project', () => ({ types: ['key.created'], projectId: otherId }), 0],
  ['a request', () => ({ requestId }), 2_500],
  ['a request in a time', () => ({ requestId, from: day(3) }), 0],
  ['a subject', () => ({ subjects: [otherId] }), 6],
  ['several subjects', () => ({ subjects: [otherId, systemLedgerId] }), 6],
  ['a project', () => ({ projectId: otherId }), 3],
  ['a time', () => ({ from: day(2), to: day(3) }), 2_500],
  ['several people', () => ({ people: ['grace', 'ada'] }), 4],
  ['an unknown person', () => ({ people: ['grace'] }), 0],
])('the events of %s', async (_name, filter, count) => {
  const { events } = await allOf(filter())
  expect(events.length).toBe(count)
})

test('one call examines a bounded number of events, and the pages lead on', async () => {
  const filter = { projectId, types: ['project.created'] } as const
  const first = await readAllLedgers(opened.store.reader, { filter, limit: 200 })
  expect(first).toMatchObject({ events: [], next: { ledgerId: projectId } })
  const { events, pages } = await allOf(filter)
  expect([events.length, pages]).toEqual([1, 2])
})

const indexed: [RegistryFilter, string][] = [
  [{}, 'event_by_time'],
  [{ from: day(1), to: day(2) }, 'event_by_time'],
  [{ people: ['ada'], from: day(1) }, 'event_by_person'],
  [{ types: ['key.created'], to: day(4) }, 'event_by_type'],
  [{ requestId, types: ['key.created'] }, 'event_by_request'],
  [{ subjects: [newId()], from: day(1) }, 'event_by_subject'],
  [{ projectId: newId(), types: ['key.created'] }, 'event'],
]
test.each(indexed)(
  '%j is found in the order of an index, without sorting',
  async (filter, index) => {
    const nodes: RootOperationNode[] = []
    const recorded = observedReads(db, { built: (node) => nodes.push(node) })
    const before = { time: day(3), ledgerId: newId(), revision: 7 }
    await readAllLedgers(recorded, { filter, before, limit: 50 })
    const [node] = nodes
    if (node === undefined) throw new Error('no query was made')
    const executor = db.getExecutor()
    const query = executor.compileQuery(node, { queryId: newId() })
    const isPostgres = opened.database.engine === 'postgres'
    const command = isPostgres ? 'explain' : 'explain query plan'
    const { rows } = await executor.executeQuery({ ...query, sql: `${command} ${query.sql}` })
    const plan = rows.map((row) => JSON.stringify(row)).join('\n')
    expect(plan).toContain(index)
    expect(plan).not.toMatch(isPostgres ? /Seq Scan/ : /SCAN (?!event USING)|TEMP B-TREE/)
  },
)
