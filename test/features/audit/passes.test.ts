import { beforeAll, describe, expect, test } from 'vitest'
import { auditChanges } from '../../../packages/server/src/features/audit/changes.ts'
import {
  countAuditedKeys,
  readAuditedKeys,
} from '../../../packages/server/src/features/audit/reads.ts'
import type { AuditedKey } from '../../../packages/server/src/features/audit/records.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { keyRecord } from '../../support/store/key-records.ts'
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
    Array.from({ length: 20 }, (_, index) => projectWithKey(`deleted-${index}`)),
  )
  for (const { projectId, kid } of projects) {
    await Promise.all([remove(projectId, kid), pass(projectId, [kid])])
  }
  const orphans = await opened.database.query(
    'select key_id from passed_key where key_id not in (select id from jwt_key)',
  )
  expect(orphans).toEqual([])
})

describe('an audit reads', () => {
  let first: { projectId: string; kid: string }[]
  const { reader } = opened.store
  beforeAll(async () => {
    const projects = [await projectWithKey('read-1'), await projectWithKey('read-2')]
    const { projectId } = projects[0] ?? { projectId: '' }
    const key = keyRecord(projectId)
    await opened.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
    first = [...projects, { projectId, kid: key.id }].toSorted((a, b) =>
      `${a.projectId} ${a.kid}` < `${b.projectId} ${b.kid}` ? -1 : 1,
    )
  })

  const own = (keys: AuditedKey[]) =>
    keys
      .map(({ key }) => ({ projectId: key.projectId, kid: key.id }))
      .filter(({ kid }) => first.some((each) => each.kid === kid))

  test('all keys in the order of their projects and ids, page by page', async () => {
    const found: AuditedKey[] = []
    for (let after: { projectId: string; kid: string } | undefined; ; ) {
      const page = await readAuditedKeys(reader, {}, { limit: 2, ...(after && { after }) })
      found.push(...page)
      const last = page.at(-1)?.key
      if (last === undefined) break
      after = { projectId: last.projectId, kid: last.id }
    }
    expect(own(found)).toEqual(first)
    expect(found).toHaveLength(await countAuditedKeys(reader, {}))
  })

  test('the keys of one project, without those that have passed the rules', async () => {
    const { projectId, kid } = first[0] ?? { projectId: '', kid: '' }
    const all = first.filter((each) => each.projectId === projectId)
    const scope = { projectId, withoutPassOf: 'today' }
    expect(own(await readAuditedKeys(reader, scope, { limit: 9 }))).toEqual(all)
    await pass(projectId, [kid])
    expect(own(await readAuditedKeys(reader, scope, { limit: 9 }))).toEqual(
      all.filter((each) => each.kid !== kid),
    )
    expect(await countAuditedKeys(reader, scope)).toBe(all.length - 1)
    const other = { projectId, withoutPassOf: 'tomorrow' }
    expect(await countAuditedKeys(reader, other)).toBe(all.length)
  })

  test('the name of the project, and whether the private key was submitted', async () => {
    const { projectId, kid } = first[0] ?? { projectId: '', kid: '' }
    const read = async () => (await readAuditedKeys(reader, { projectId }, { limit: 1 }))[0]
    const found = await read()
    const name = (await findProjectRecord(opened.store.reader, { id: projectId }))?.name
    expect(found).toMatchObject({ key: { id: kid }, projectName: name, wasExposed: false })
    const { thumbprint = '', materialSha256 = '' } = found?.key ?? {}
    const exposed = { thumbprint, materialSha256 }
    await opened.store.commit(keyChanges.refusePrivateKey, { origin: origin(), exposed })
    expect((await read())?.wasExposed).toBe(true)
  })
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
