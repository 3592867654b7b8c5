import { expect, test } from 'vitest'
import { auditChanges } from '../../../packages/server/src/features/audit/changes.ts'
import {
  countAuditedKeys,
  readAuditedKeys,
} from '../../../packages/server/src/features/audit/reads.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { keyImport, keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()

async function projectWithKey(name: string) {
  const { id: projectId } = await createProject(opened.store, name)
  const key = keyRecord(projectId, { enabled: false })
  await opened.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  return { projectId, kid: key.id }
}

const pass = (projectId: string, kids: string[]) =>
  opened.store.commit(auditChanges.passAudit, {
    projectId,
    kids,
    rules: 'today',
    time: origin().time,
  })
const remove = (projectId: string, kid: string) =>
  opened.store.commit(keyChanges.deleteKey, { origin: origin(), projectId, kid })

test('a pass writes no event, and leaves no gap before the next one', async () => {
  const { projectId, kid } = await projectWithKey('passed')
  const before = await findProjectRecord(opened.store.reader, { id: projectId })
  await pass(projectId, [kid])
  expect(await findProjectRecord(opened.store.reader, { id: projectId })).toEqual(before)
  await remove(projectId, kid)
  const events = await readEvents(opened.store.reader, projectId, { after: 0, limit: 10 })
  expect(events.map(({ revision }) => revision)).toEqual([1, 2, 3])
})

test('a pass of a key that is deleted concurrently leaves no row', async () => {
  const projects = await Promise.all(
    Array.from({ length: 60 }, (_, index) => projectWithKey(`deleted-${index}`)),
  )
  for (const { projectId, kid } of projects) {
    await Promise.all([remove(projectId, kid), pass(projectId, [kid])])
  }
  const orphans = await opened.database.query(
    'select key_id from passed_key where key_id not in (select id from jwt_key)',
  )
  expect(orphans).toEqual([])
})

test('an audit reads all keys in the order of their projects and ids, page by page', async () => {
  const { reader } = opened.store
  await projectWithKey('another')
  const found: string[] = []
  let after: { projectId: string; kid: string } | undefined
  do {
    const page = await readAuditedKeys(reader, {}, { limit: 2, ...(after && { after }) })
    found.push(...page.map(({ key }) => `${key.projectId} ${key.id}`))
    const last = page.at(-1)?.key
    after = last && { projectId: last.projectId, kid: last.id }
  } while (after !== undefined)
  expect(found).toEqual([...new Set(found)].toSorted())
  expect(found).toHaveLength(await countAuditedKeys(reader, {}))
})

test('an audit reads the keys of a project without those that have passed the rules, and whether a private key was submitted', async () => {
  const { reader } = opened.store
  const { projectId, kid } = await projectWithKey('read')
  const key = keyRecord(projectId)
  await opened.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  await pass(projectId, [kid])
  const scope = { projectId, withoutPassOf: 'today' }
  const read = () => readAuditedKeys(reader, scope, { limit: 9 })
  expect(await read()).toEqual([{ key, projectName: 'read', wasExposed: false }])
  expect(await countAuditedKeys(reader, scope)).toBe(1)
  expect(await countAuditedKeys(reader, { projectId, withoutPassOf: 'tomorrow' })).toBe(2)
  const exposed = { thumbprint: key.thumbprint, materialSha256: key.materialSha256 }
  await opened.store.commit(keyChanges.refusePrivateKey, { origin: origin(), exposed })
  expect(await read()).toMatchObject([{ wasExposed: true }])
})

test('a weakness is recorded once, and the key is deactivated with it', async () => {
  const { id: projectId } = await createProject(opened.store, 'weak')
  const key = keyRecord(projectId)
  const kid = key.id
  await opened.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  const report = (deactivate: boolean) =>
    opened.store.commit(keyChanges.reportWeakness, {
      ...{ origin: origin(), projectId, kid, deactivate },
      weaknesses: ['rsa_shared_prime'],
    } as const)
  const reported = ['rsa_shared_prime']
  expect(await report(false)).toEqual({ reported, active: true, deactivated: false })
  expect(await report(false)).toEqual({ reported: [], active: true, deactivated: false })
  expect(await report(true)).toEqual({ reported: [], active: false, deactivated: true })
  const events = await readEvents(opened.store.reader, projectId, { after: 2, limit: 10 })
  expect(events.map(({ type }) => type)).toEqual(['key.weakness_found', 'key.updated'])
})

test('a weakness is recorded again for a key that was deleted and imported with its kid', async () => {
  const { projectId, kid } = await projectWithKey('restored')
  const keys = (await keySetOf(opened.store, projectId))?.keys ?? []
  const report = () =>
    opened.store.commit(keyChanges.reportWeakness, {
      ...{ origin: origin(), projectId, kid, deactivate: false },
      weaknesses: ['rsa_modulus_reused'],
    })
  const reported = ['rsa_modulus_reused']
  expect(await report()).toMatchObject({ reported })
  await remove(projectId, kid)
  const restored = keyImport(keys, { kidProvided: true })
  const { items } = await opened.store.commit(keyChanges.importKeys, restored)
  expect(items).toEqual([{ outcome: 'created', kid }])
  expect(await report()).toMatchObject({ reported })
  expect(await report()).toMatchObject({ reported: [] })
  const events = await readEvents(opened.store.reader, projectId, { after: 2, limit: 10 })
  expect(events.map(({ type }) => type)).toEqual([
    ...['key.weakness_found', 'key.deleted', 'key.created', 'key.weakness_found'],
  ])
})
