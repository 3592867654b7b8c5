import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { apiKeys } from '../../../packages/server/src/features/api-keys/stored.ts'
import { features } from '../../../packages/server/src/features.ts'
import {
  type Authenticator,
  createAuthenticator,
} from '../../../packages/server/src/kernel/access/authentication.ts'
import { createReadCaller } from '../../../packages/server/src/kernel/access/callers.ts'
import {
  isApiKeySecret,
  newApiKeySecret,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import type { Role } from '../../../packages/server/src/kernel/contract.ts'
import { kernelChanges } from '../../../packages/server/src/kernel/kernel-changes.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { openTestStore, origin, type TestStore } from '../../support/store/store.ts'

let opened: TestStore
let store: Store
let reads: { digests: number; heads: number; waiting: Promise<void> }
let time: number
let authenticator: Authenticator

beforeEach(async () => {
  opened = await openTestStore()
  reads = { digests: 0, heads: 0, waiting: Promise.resolve() }
  time = Date.parse('2026-03-01T00:00:00.000Z')
  // The real store, which counts what it is reads and can be slow.
  store = {
    ...opened.store,
    reader: observedReads(opened.store.reader, {
      read() {
        reads.digests += 1
      },
    }),
    async heads(ids) {
      reads.heads += 1
      await reads.waiting
      return opened.store.heads(ids)
    },
  }
  authenticator = createAuthenticator({
    store,
    clock: { now: () => time, monotonic: () => time },
    readCaller: createReadCaller(features),
  })
})
afterEach(async () => {
  await authenticator.close()
})

async function register(role: Role, expireTime?: string) {
  const secret = newApiKeySecret()
  const members = { name: 'n', role, ...(expireTime === undefined ? {} : { expireTime }) }
  const apiKey = apiKeyRecord(secret, origin().time, members)
  await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
  return { secret, id: apiKey.id }
}

const change = (id: string, patch: { role?: Role; active?: boolean }) =>
  store.commit(apiKeyChanges.updateApiKey, { origin: origin(), id, patch })

const rejected = expect.objectContaining({ code: 'invalid_api_key' })

describe('a cached API key', () => {
  test('is read once, and again only after a change to any API key', async () => {
    const { secret, id } = await register('writer')
    for (let n = 0; n < 100; n += 1) await authenticator.authenticate(secret)
    expect(reads.digests).toBe(1)
    await change(id, { role: 'reader' })
    expect(await authenticator.authenticate(secret)).toMatchObject({ grants: [{ role: 'reader' }] })
    expect(reads.digests).toBe(2)
    await change(id, { active: false })
    await expect(authenticator.authenticate(secret)).rejects.toEqual(rejected)
  })

  test('is rejected from its expireTime on, to the millisecond, and if it expired during the read', async () => {
    const expireTime = '2026-03-01T00:00:01.000Z'
    const { secret } = await register('reader', expireTime)
    const answer = authenticator.authenticate(secret)
    time = Date.parse(expireTime)
    await expect(answer).rejects.toEqual(rejected)
    time -= 1
    expect(await authenticator.authenticate(secret)).toMatchObject({ grants: [{ role: 'reader' }] })
    time += 1
    await expect(authenticator.authenticate(secret)).rejects.toEqual(rejected)
  })
})

describe('an unknown secret', () => {
  test('with a typing error costs no read', async () => {
    const { secret } = await register('reader')
    for (let index = 8; index < secret.length; index += 1) {
      const typo =
        secret.slice(0, index) + (secret[index] === 'a' ? 'b' : 'a') + secret.slice(index + 1)
      await expect(authenticator.authenticate(typo)).rejects.toEqual(rejected)
    }
    expect(reads).toMatchObject({ digests: 0, heads: 0 })
  })

  test('with two adjacent characters swapped fails its checksum', async () => {
    const { secret } = await register('reader')
    for (let index = 8; index < secret.length - 1; index += 1) {
      const [one = '', two = ''] = secret.slice(index, index + 2)
      const swapped = secret.slice(0, index) + two + one + secret.slice(index + 2)
      expect(isApiKeySecret(swapped)).toBe(one === two)
    }
  })

  test('is not cached: 11,000 of them leave no memory in use', async () => {
    const { secret } = await register('reader')
    await authenticator.authenticate(secret)
    const unknown = Array.from({ length: 11_000 }, newApiKeySecret)
    // At once, so that they share their reads.
    const results = await Promise.allSettled(
      unknown.map((each) => authenticator.authenticate(each)),
    )
    expect(results.every(({ status }) => status === 'rejected')).toBe(true)
    // The known one was not evicted.
    reads.digests = 0
    await authenticator.authenticate(secret)
    expect(reads.digests).toBe(0)
  })
})

describe('the read of the ledger head', () => {
  test('starts after the request', async () => {
    const { secret, id } = await register('writer')
    await authenticator.authenticate(secret)
    const { promise, resolve } = Promise.withResolvers<void>()
    reads.waiting = promise
    const early = authenticator.authenticate(secret)
    await delay(5)
    // The read in progress began before the revocation and must not serve later requests.
    await opened.store.commit(apiKeyChanges.deleteApiKey, { origin: origin(), id })
    const late = Array.from({ length: 100 }, () => authenticator.authenticate(secret))
    resolve()
    await Promise.allSettled([early, ...late])
    for (const each of late) await expect(each).rejects.toEqual(rejected)
  })

  test('that fails does not reject later requests', async () => {
    const { secret } = await register('writer')
    reads.waiting = Promise.reject(new Error('away'))
    await expect(authenticator.authenticate(secret)).rejects.toThrow('away')
    reads.waiting = Promise.resolve()
    expect(await authenticator.authenticate(secret)).toMatchObject({ grants: [{ role: 'writer' }] })
  })
})

describe('last uses', () => {
  const lastUse = async (id: string) => (await apiKeys.find(store.reader, id))?.lastUseTime

  test('are written together, the latest one of each API key', async () => {
    const first = await register('reader')
    const second = await register('reader')
    const commits: string[] = []
    const { commit } = store
    store.commit = (kind, change) => {
      commits.push(kind.type)
      return commit(kind, change)
    }
    for (const { secret } of [first, second, first]) {
      time += 1_000
      await authenticator.authenticate(secret)
    }
    await authenticator.flush()
    await authenticator.flush()
    expect(commits).toEqual(['credential.touch'])
    expect(await lastUse(first.id)).toBe('2026-03-01T00:00:03.000Z')
    expect(await lastUse(second.id)).toBe('2026-03-01T00:00:02.000Z')
  })

  test('never go back behind a later one from another replica', async () => {
    const { secret, id } = await register('reader')
    await authenticator.authenticate(secret)
    const later = '2026-03-01T00:00:09.000Z'
    await store.commit(kernelChanges.touchCredentials, {
      uses: [{ type: 'api_key', id, time: later }],
    })
    await authenticator.flush()
    expect(await lastUse(id)).toBe(later)
  })

  test('of a revoked API key are written, to investigate a leak', async () => {
    const { secret, id } = await register('reader')
    await authenticator.authenticate(secret)
    await change(id, { active: false })
    await authenticator.flush()
    expect(await lastUse(id)).toBe('2026-03-01T00:00:00.000Z')
  })

  test('that could not be written are written with the next ones', async () => {
    const { secret, id } = await register('reader')
    await authenticator.authenticate(secret)
    const { commit } = store
    store.commit = () => Promise.reject(new Error('locked'))
    await authenticator.flush()
    store.commit = commit
    expect(await lastUse(id)).toBeUndefined()
    await authenticator.flush()
    expect(await lastUse(id)).toBe('2026-03-01T00:00:00.000Z')
  })
})
