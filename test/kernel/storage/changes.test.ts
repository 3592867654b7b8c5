import { expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { findApiKeyByDigest } from '../../../packages/server/src/features/api-keys/reads.ts'
import { apiKeys } from '../../../packages/server/src/features/api-keys/stored.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import { createProject, openTestStore, origin } from '../../support/store/store.ts'

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
