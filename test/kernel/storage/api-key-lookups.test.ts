import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { findApiKeyByDigest } from '../../../packages/server/src/features/api-keys/reads.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import { ownMigrations } from '../../../packages/server/src/kernel/storage/migrations/index.ts'
import { openMigrated } from '../../../packages/server/src/kernel/storage/sqlite/opening.ts'
import { temporaryFolder } from '../../support/server/process.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { openTestStore, origin } from '../../support/store/store.ts'

/** Digests of secrets that were never registered. */
const unknown = (count: number) =>
  Array.from({ length: count }, () => apiKeyDigest(newApiKeySecret()))

test('API keys are found among more unknown secrets than fit one statement', async () => {
  const { store } = await openTestStore()
  const apiKey = apiKeyRecord(newApiKeySecret(), new Date().toISOString(), {
    name: 'ci',
    role: 'reader',
  })
  await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
  const digests = [...unknown(700), apiKey.digest, ...unknown(700), apiKey.digest]
  const found = await Promise.all(digests.map((digest) => findApiKeyByDigest(store.reader, digest)))
  expect(found.flatMap((one, index) => (one === undefined ? [] : [index]))).toEqual([700, 1_401])
  expect(found[700]).toEqual(apiKey)
})

test('200 concurrent unknown secrets cost one query', async () => {
  const { folder } = temporaryFolder()
  const connection = await openMigrated({ file: join(folder, 'lookups.db') }, ownMigrations)
  let queries = 0
  const db = observedReads(connection.db, {
    read() {
      queries += 1
    },
  })
  const found = await Promise.all(unknown(200).map((digest) => findApiKeyByDigest(db, digest)))
  expect(found.every((one) => one === undefined)).toBe(true)
  expect(queries).toBe(1)
  connection.close()
})
