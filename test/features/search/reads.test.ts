import type { RootOperationNode } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { readProjects } from '../../../packages/server/src/features/projects/reads.ts'
import { createNeedle } from '../../../packages/server/src/features/search/needle.ts'
import { findKeys, findProjects } from '../../../packages/server/src/features/search/reads.ts'
import { openReads } from '../../../packages/server/src/kernel/storage/open.ts'
import type { Db } from '../../../packages/server/src/kernel/storage/schema.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { distinctKey, keyImport, keyRecord } from '../../support/store/key-records.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, openTestStore, origin } from '../../support/store/store.ts'

let projectId: string
let key: KeyRecord

const opened = await openTestStore()
const { store, database } = opened
for (let project = 0; project < 30; project += 1) {
  projectId = (await createProject(store, `p-${project}`)).id
  const template = keyRecord(projectId)
  // Unequal hashes in place of pairs of keys, which would take a second.
  const keys = Array.from({ length: 100 }, (_, index) => {
    const publishedKid = `published-${project}-${index}`
    if (project === 29 && index < 3) return keyRecord(template.projectId, { publishedKid })
    return { ...distinctKey(template), label: `Key ${project}-${index}`, publishedKid }
  })
  key = keys[50] ?? template
  await store.commit(keyChanges.importKeys, keyImport(keys))
}
for (const table of ['jwt_key', 'event', 'published_kid', 'project', 'ledger']) {
  await database.execute(`analyze ${table}`)
}
const { db, close } = await openReads(database.url)

afterAll(close)

const uuid = newId()
const queries: [string, (db: Db) => Promise<unknown>][] = [
  ['keys by kid', (db) => findKeys(db, createNeedle(uuid), 20)],
  ['keys by the beginning of a kid', (db) => findKeys(db, createNeedle(uuid.slice(0, 8)), 20)],
  ['keys by the end of a kid', (db) => findKeys(db, createNeedle(uuid.slice(-6)), 20)],
  ['projects by the end of an id', (db) => findProjects(db, createNeedle(uuid.slice(-6)), 20)],
  ['keys by label and published kid', (db) => findKeys(db, createNeedle('key 7-'), 20)],
  ['projects', (db) => findProjects(db, createNeedle(uuid), 20)],
  ['projects by id', (db) => readProjects(db, [uuid])],
]

test.each(queries)('no statement that finds %s reads a whole table', async (_name, find) => {
  const nodes: RootOperationNode[] = []
  const recorded = observedReads(db, { built: (node) => nodes.push(node) })
  await find(recorded)
  expect(nodes.length).toBeGreaterThan(0)
  const { engine } = opened.database
  for (const node of nodes) {
    const executor = db.getExecutor()
    const query = executor.compileQuery(node, { queryId: newId() })
    // PostgreSQL sorts so small a table for a page of the newest keys, which is a third of it.
    if (engine === 'postgres' && query.sql.includes('"id" desc limit')) continue
    const command = engine === 'postgres' ? 'explain' : 'explain query plan'
    const { rows } = await executor.executeQuery({ ...query, sql: `${command} ${query.sql}` })
    const plan = rows.map((row) => JSON.stringify(row)).join('\n')
    expect(plan, query.sql).toMatch(/INDEX|Index/)
    // SQLite scans the result of subqueries.
    expect(plan, query.sql).not.toMatch(
      /Seq Scan on (?!project|ledger|api_key)|SCAN (?!entry|subject|earlier|before|\(|CONSTANT)/,
    )
  }
})

test.each([
  ['too short for the middle of a label', () => 'zz', false],
  ['a kid', () => key.id, false],
  ['the hash of an SPKI', () => 'ab'.repeat(32), false],
  ['the thumbprint of a key', () => key.thumbprint, false],
  ['in the middle of a label, perhaps', () => 'ey 3-', true],
  ['an OpenSSH fingerprint', () => `SHA256:${'A'.repeat(43)}`, true],
])('all labels are read only for what may be in one: %s', async (_name, text, isScanned) => {
  const nodes: RootOperationNode[] = []
  await findKeys(observedReads(db, { built: (node) => nodes.push(node) }), createNeedle(text()), 20)
  const queries = nodes.map((node) => db.getExecutor().compileQuery(node, { queryId: newId() }))
  expect(queries.some((query) => query.sql.includes('"id" desc limit'))).toBe(isScanned)
})

test('a key that two indexes find leaves room for one that only its label names', async () => {
  const { id } = await createProject(opened.store, 'twice')
  const keys = ['twice-found', 'not twice-found'].map((label, index) =>
    keyRecord(id, { label, ...(index === 0 && { publishedKid: 'twice-found' }) }),
  )
  await opened.store.commit(keyChanges.importKeys, keyImport(keys))
  const found = await findKeys(db, createNeedle('twice-found'), 2)
  const labels = new Set(found.map(({ label }) => label))
  expect(labels).toEqual(new Set(['twice-found', 'not twice-found']))
})

test('a key is found by the beginning of its kid that many deleted keys share', async () => {
  const { id } = await createProject(opened.store, 'shared')
  const ids = Array.from({ length: 30 }, (_, at) => `deadbeef-0000-7000-8000-0000000000${at + 10}`)
  const template = keyRecord(id, { enabled: false })
  const keys = ids.map((kid) => distinctKey(template, kid))
  await opened.store.commit(keyChanges.importKeys, keyImport(keys, { kidProvided: true }))
  for (const kid of ids.slice(0, -1)) {
    await opened.store.commit(keyChanges.deleteKey, { origin: origin(), projectId: id, kid })
  }
  const found = await findKeys(db, createNeedle('deadbeef'), 21)
  expect(found.map((each) => each.id)).toEqual(ids.slice(-1))
})
