import { expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { findApiKeyByDigest } from '../../../packages/server/src/features/api-keys/reads.ts'
import { apiKeys } from '../../../packages/server/src/features/api-keys/stored.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { isBlocked } from '../../../packages/server/src/features/keys/exposure/fingerprints.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { isoTime } from '../../../packages/server/src/kernel/values/times.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const opened = await openTestStore()
const store = opened.store

const refusal = (code: string) => expect.objectContaining({ name: 'PubringError', code })

test('a rename to the same name changes neither revision nor updateTime', async () => {
  const project = await createProject(store, 'same')
  const later = origin('2026-02-01T00:00:00.000Z')
  const { id } = project
  const same = await store.commit(projectChanges.renameProject, {
    origin: later,
    projectId: id,
    name: 'same',
  })
  expect(same).toEqual(project)
  expect(await findProjectRecord(store.reader, { id })).toMatchObject(project)
})

test('a rename to a taken name is rejected and keeps the revision', async () => {
  await createProject(store, 'occupied')
  const project = await createProject(store, 'wanderer')
  const rename = store.commit(projectChanges.renameProject, {
    origin: origin(),
    projectId: project.id,
    name: 'occupied',
  })
  await expect(rename).rejects.toEqual(refusal('project_name_taken'))
  expect(await findProjectRecord(store.reader, { id: project.id })).toMatchObject(project)
})

test('a key is read back as it was written', async () => {
  const { id: projectId } = await createProject(store, 'round-trip')
  const key = keyRecord(projectId, {
    label: 'ключ 🔑 "quoted"',
    expireTime: '2027-01-01T00:00:00.000Z',
    normalised: ['bom', 'line_breaks'],
  })
  await store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  expect(await keySetOf(store, projectId)).toEqual({
    name: 'round-trip',
    revision: 2,
    head: expect.any(String),
    keys: [key],
  })
})

test('keys are listed oldest first, and by id within a millisecond', async () => {
  const { id: projectId } = await createProject(store, 'ordered')
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
  const { id: projectId } = await createProject(store, 'limited')
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
  const { id: projectId } = await createProject(store, 'rotated')
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

test('a key set cannot exceed its size limit; inactive keys do not count', async () => {
  const { id: projectId } = await createProject(store, 'large')
  const small = { ...limits, maxJwksBytes: 500 }
  const create = (members: { enabled: boolean }) =>
    store.commit(keyChanges.createKey, {
      origin: origin(),
      key: keyRecord(projectId, members),
      limits: small,
    })
  await create({ enabled: true })
  await create({ enabled: true })
  await expect(create({ enabled: true })).rejects.toEqual(refusal('jwks_too_large'))
  const inactive = await create({ enabled: false })
  const activate = store.commit(keyChanges.updateKey, {
    origin: origin(),
    projectId,
    kid: inactive.id,
    patch: { active: true },
    limits: small,
  })
  await expect(activate).rejects.toEqual(refusal('jwks_too_large'))
})

test('an API key is found by its digest; creating the same secret again returns it', async () => {
  const secret = newApiKeySecret()
  const apiKey = apiKeyRecord(secret, origin().time, { name: 'ci', role: 'writer' })
  await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
  expect(await findApiKeyByDigest(store.reader, apiKey.digest)).toEqual(apiKey)
  const again = apiKeyRecord(secret, origin().time, { name: 'other', role: 'reader' })
  expect(
    await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey: again }),
  ).toEqual(apiKey)
})

test('an API key for a deleted project is rejected', async () => {
  const { id: projectId } = await createProject(store, 'deleted')
  await store.commit(projectChanges.deleteProject, { origin: origin(), projectId })
  const members = { name: 'late', role: 'writer', projectId } as const
  const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, members)
  const create = store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
  await expect(create).rejects.toEqual(refusal('project_not_found'))
  expect(await apiKeys.find(store.reader, apiKey.id)).toBeUndefined()
})

test('the public key of a submitted private key is blocked by either hash', async () => {
  const { id: projectId } = await createProject(store, 'incident')
  const { thumbprint, materialSha256 } = keyRecord(projectId)
  expect(await isBlocked(store.reader, { thumbprint, materialSha256 })).toBe(false)
  const exposed = { thumbprint, materialSha256 }
  await store.commit(keyChanges.refusePrivateKey, { origin: origin(), projectId, exposed })
  expect(await isBlocked(store.reader, { thumbprint, materialSha256: 'none' })).toBe(true)
  expect(await isBlocked(store.reader, { thumbprint: 'none', materialSha256 })).toBe(true)
  expect((await findProjectRecord(store.reader, { id: projectId }))?.revision).toBe(2)
})
