import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { apiKeyRecord } from '../../src/core/api-keys/operations.ts'
import { newApiKeySecret } from '../../src/core/api-keys/secrets.ts'
import { isActive } from '../../src/core/expiry.ts'
import { verifyLedgers } from '../../src/core/ledger/all-ledgers.ts'
import { isWhole } from '../../src/core/ledger/verification.ts'
import type { ApiKeyRecord, KeyRecord } from '../../src/core/records.ts'
import { openLedgerReader, openStore } from '../../src/storage/open.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createProject, limits, origin } from '../support/store/store.ts'
import { type TamperedRegistry, tamperings } from '../support/store/tamperings.ts'
import { trustPolicyRecord } from '../support/store/trust-records.ts'

let original: TestDatabase
let registry: TamperedRegistry

beforeAll(async () => {
  original = await createDatabase()
  const store = await openStore(original.url)
  const projectId = (await createProject(store, 'payments')).id
  const otherProjectId = (await createProject(store, 'orders')).id
  const put = (members: Partial<KeyRecord>) => {
    const key = keyRecord(projectId, members)
    return store.commit({ type: 'key.create', origin: origin(), key, limits })
  }
  const putApiKey = async (name: string, members: Partial<ApiKeyRecord>) => {
    const made = { name, role: 'admin', ...members } as const
    const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, made)
    return store.commit({ type: 'api_key.create', origin: origin(), apiKey })
  }
  const [key, second, toDeactivate] = [
    await put({ label: 'first' }),
    await put({ label: 'second' }),
    await put({ label: 'third', publishedKid: 'old-kid' }),
  ]
  const reader = await putApiKey('reader', {
    role: 'reader',
    projectId,
    expireTime: '2099-01-02T03:04:05.678Z',
  })
  const admin = await putApiKey('admin', {})
  const { id } = await putApiKey('revoked', {})
  const revoked = await store.commit({
    type: 'api_key.update',
    origin: origin(),
    id,
    patch: { active: false },
  })
  const policy = trustPolicyRecord({ projectId })
  await store.commit({ type: 'trust_policy.create', origin: origin(), policy })
  const { thumbprint, materialSha256 } = keyRecord(projectId)
  await store.commit({
    type: 'private_key.refuse',
    origin: origin(),
    projectId,
    exposed: { thumbprint, materialSha256 },
  })
  await store.commit({
    type: 'project.rename',
    origin: origin(),
    projectId: otherProjectId,
    name: 'orders-2',
  })
  const { key: inactive } = await store.commit({
    type: 'key.update',
    origin: origin('2026-01-02T03:04:06.000Z'),
    projectId,
    kid: toDeactivate.id,
    patch: { active: false },
    limits,
  })
  const events = new Map<string, Awaited<ReturnType<typeof store.events>>>()
  for (const ledgerId of [projectId, otherProjectId]) {
    events.set(ledgerId, await store.events(ledgerId, { after: 0, limit: 500 }))
  }
  await store.close()
  registry = {
    database: original,
    store: { events: async (ledgerId) => events.get(ledgerId) ?? [] },
    ...{ projectId, otherProjectId, key, second, inactive, reader, admin, revoked, policy },
    exposed: thumbprint,
  }
})
beforeEach(async () => {
  registry = { ...registry, database: await original.copy() }
})
afterAll(() => original.remove())

async function verdicts() {
  const reader = await openLedgerReader(registry.database.url)
  const found = await Array.fromAsync(verifyLedgers(reader))
  await reader.close()
  return found
}

/** The rows that a server does not use, and the projects that it does not serve. */
async function unused() {
  const store = await openStore(registry.database.url)
  const time = new Date().toISOString()
  const found: string[] = []
  for (const id of [registry.projectId, registry.otherProjectId]) {
    const keySet = await store.keySet(id).catch(() => undefined)
    if (keySet === undefined) found.push(`project ${id}`)
    for (const key of keySet?.keys ?? []) if (key.contradicted) found.push(`key ${key.id}`)
    for (const key of keySet?.keys ?? [])
      expect(key.contradicted && isActive(key, time)).not.toBe(true)
  }
  for (const apiKey of await store.listApiKeys('all')) {
    if (apiKey.contradicted) found.push(`api_key ${apiKey.id}`)
    const byDigest = await store.findApiKeyByDigest(apiKey.digest)
    expect(byDigest?.contradicted).toBe(apiKey.contradicted)
  }
  for (const policy of await store.trustPolicies()) {
    if (policy.contradicted) found.push(`trust_policy ${policy.id}`)
  }
  await store.close()
  return found
}

test('an unaltered registry has no difference, and every row is used', async () => {
  const found = await verdicts()
  expect(found.flatMap(({ differences }) => differences)).toEqual([])
  expect(found.every(isWhole)).toBe(true)
  expect(found.map(({ incomplete }) => incomplete)).toEqual([0, 0, 0])
  expect(await unused()).toEqual([])
})

describe('somebody with write access to the database alters', () => {
  test.each(tamperings.map((each) => [each.name, each.caughtBy, each] as const))(
    '%s: caught by the %s',
    async (_name, caughtBy, { tamper, named, broken }) => {
      await tamper(registry)
      const found = await verdicts()
      if (caughtBy === 'checkpoint') {
        // Consistent in itself: only what was signed before it tells.
        expect(found.every(isWhole)).toBe(true)
        return
      }
      expect(found.every(isWhole)).toBe(false)
      const differences = found.flatMap((verdict) => verdict.differences)
      const subject = named?.(registry)
      if (subject !== undefined) {
        const { member, ...rest } = subject
        expect(differences).toContainEqual(
          expect.objectContaining({ subject: rest, ...(member === undefined ? {} : { member }) }),
        )
      }
      if (broken !== undefined) {
        expect(found.map((verdict) => verdict.broken?.detail ?? '').join('\n')).toMatch(broken)
      }
      const rejected = await unused()
      if (caughtBy === 'read') {
        const { type, id } = subject ?? { type: 'key', id: registry.key.id }
        expect(rejected).toContain(`${type} ${id}`)
      }
    },
  )
})
