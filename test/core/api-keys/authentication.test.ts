import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Role } from '../../../src/contract/roles.ts'
import {
  type Authenticator,
  createAuthenticator,
} from '../../../src/core/api-keys/authentication.ts'
import { apiKeyRecord } from '../../../src/core/api-keys/operations.ts'
import { isApiKeySecret, newApiKeySecret } from '../../../src/core/api-keys/secrets.ts'
import type { Context, Store } from '../../../src/core/context.ts'
import { openTestStore, origin, type TestStore } from '../../support/store/store.ts'

let opened: TestStore
let store: Store
let asked: { digests: number; heads: number; waiting: Promise<void> }
let time: number
let authenticator: Authenticator

beforeEach(async () => {
  opened = await openTestStore()
  asked = { digests: 0, heads: 0, waiting: Promise.resolve() }
  time = Date.parse('2026-03-01T00:00:00.000Z')
  // The real store, which counts what it is asked and can be slow.
  store = {
    ...opened.store,
    async findApiKeyByDigest(digest) {
      asked.digests += 1
      return opened.store.findApiKeyByDigest(digest)
    },
    async heads(ids) {
      asked.heads += 1
      await asked.waiting
      return opened.store.heads(ids)
    },
  }
  const context = { store, clock: { now: () => time, monotonic: () => time } } as const
  authenticator = createAuthenticator({
    ...context,
    config: config(),
    examine: never,
    bulk: { examineAll: never, findSharedPrimes: never },
  })
})
afterEach(async () => {
  await authenticator.close()
  await opened.dispose()
})

function config(): Context['config'] {
  return {
    maxKeysPerProject: 50,
    maxJwksBytes: 51_200,
    jwksMaxAge: 60,
    jwksStaleLimit: 600,
    maxHeldRequests: 0,
    maxEventStreams: 0,
    maxImportKeys: 0,
    publicUrl: 'http://x',
  }
}

const never = () => Promise.reject(new Error('Nothing is examined here.'))

async function register(role: Role, expireTime?: string) {
  const secret = newApiKeySecret()
  const members = { name: 'n', role, ...(expireTime === undefined ? {} : { expireTime }) }
  const apiKey = apiKeyRecord(secret, origin().time, members)
  await store.commit({ type: 'api_key.create', origin: origin(), apiKey })
  return { secret, id: apiKey.id }
}

const refused = expect.objectContaining({ code: 'invalid_api_key' })

describe('an API key that is remembered', () => {
  test('is looked up once, and again only after a change to some API key', async () => {
    const { secret, id } = await register('writer')
    for (let n = 0; n < 100; n += 1) await authenticator.authenticate(secret)
    expect(asked.digests).toBe(1)
    await store.commit({ type: 'api_key.update', origin: origin(), id, patch: { role: 'reader' } })
    expect(await authenticator.authenticate(secret)).toMatchObject({ role: 'reader' })
    expect(asked.digests).toBe(2)
  })

  test('is refused from the next request on, by revocation and by switching it off', async () => {
    for (const patch of [undefined, { active: false }]) {
      const { secret, id } = await register('writer')
      await authenticator.authenticate(secret)
      if (patch === undefined) await store.commit({ type: 'api_key.delete', origin: origin(), id })
      else await store.commit({ type: 'api_key.update', origin: origin(), id, patch })
      await expect(authenticator.authenticate(secret)).rejects.toEqual(refused)
    }
  })

  test('is refused from its expireTime on, to the millisecond', async () => {
    const expireTime = '2026-03-01T00:00:01.000Z'
    const { secret } = await register('reader', expireTime)
    time = Date.parse(expireTime) - 1
    expect(await authenticator.authenticate(secret)).toMatchObject({ role: 'reader' })
    time += 1
    await expect(authenticator.authenticate(secret)).rejects.toEqual(refused)
  })

  test('is refused where it expired during the look-up', async () => {
    const { secret } = await register('reader', '2026-03-01T00:00:01.000Z')
    const answer = authenticator.authenticate(secret)
    time += 1_000
    await expect(answer).rejects.toEqual(refused)
  })
})

describe('an unknown secret', () => {
  test('with a typing error costs no look-up at all', async () => {
    const { secret } = await register('reader')
    for (let place = 8; place < secret.length; place += 1) {
      const typo =
        secret.slice(0, place) + (secret[place] === 'a' ? 'b' : 'a') + secret.slice(place + 1)
      await expect(authenticator.authenticate(typo)).rejects.toEqual(refused)
    }
    expect(asked).toMatchObject({ digests: 0, heads: 0 })
  })

  test('of two neighbours exchanged is one too', async () => {
    const { secret } = await register('reader')
    for (let place = 8; place < secret.length - 1; place += 1) {
      const [one = '', two = ''] = secret.slice(place, place + 2)
      const swapped = secret.slice(0, place) + two + one + secret.slice(place + 2)
      expect(isApiKeySecret(swapped)).toBe(one === two)
    }
  })

  test('is not remembered: 11,000 of them take no memory that stays', async () => {
    const { secret } = await register('reader')
    await authenticator.authenticate(secret)
    const unknown = Array.from({ length: 11_000 }, newApiKeySecret)
    for (const each of unknown) await authenticator.authenticate(each).catch(() => undefined)
    // It has not driven out the one that is known.
    asked.digests = 0
    await authenticator.authenticate(secret)
    expect(asked.digests).toBe(0)
  })
})

describe('the look at the ledger', () => {
  test('begins after the request came', async () => {
    const { secret, id } = await register('writer')
    await authenticator.authenticate(secret)
    const { promise, resolve } = Promise.withResolvers<void>()
    asked.waiting = promise
    const early = authenticator.authenticate(secret)
    await delay(5)
    // The look that is under way began before the revocation and must not serve those after it.
    await opened.store.commit({ type: 'api_key.delete', origin: origin(), id })
    const late = Array.from({ length: 100 }, () => authenticator.authenticate(secret))
    resolve()
    await Promise.allSettled([early, ...late])
    for (const each of late) await expect(each).rejects.toEqual(refused)
  })

  test('that fails refuses nobody for good', async () => {
    const { secret } = await register('writer')
    asked.waiting = Promise.reject(new Error('away'))
    await expect(authenticator.authenticate(secret)).rejects.toThrow('away')
    asked.waiting = Promise.resolve()
    expect(await authenticator.authenticate(secret)).toMatchObject({ role: 'writer' })
  })
})

describe('last uses', () => {
  const lastUse = async (id: string) => (await store.findApiKey(id))?.lastUseTime

  test('are written together, the latest of each', async () => {
    const first = await register('reader')
    const second = await register('reader')
    const commits: string[] = []
    const { commit } = store
    store.commit = (change) => {
      commits.push(change.type)
      return commit(change)
    }
    for (const { secret } of [first, second, first]) {
      time += 1_000
      await authenticator.authenticate(secret)
    }
    await authenticator.flush()
    await authenticator.flush()
    expect(commits).toEqual(['api_key.touch'])
    expect(await lastUse(first.id)).toBe('2026-03-01T00:00:03.000Z')
    expect(await lastUse(second.id)).toBe('2026-03-01T00:00:02.000Z')
  })

  test('never go back, where another replica wrote a later one', async () => {
    const { secret, id } = await register('reader')
    await authenticator.authenticate(secret)
    const later = '2026-03-01T00:00:09.000Z'
    await store.commit({ type: 'api_key.touch', uses: [{ id, time: later }] })
    await authenticator.flush()
    expect(await lastUse(id)).toBe(later)
  })

  test('of an API key that was revoked since are written: they are what a leak is judged by', async () => {
    const { secret, id } = await register('reader')
    await authenticator.authenticate(secret)
    await store.commit({ type: 'api_key.update', origin: origin(), id, patch: { active: false } })
    await authenticator.flush()
    expect(await lastUse(id)).toBe('2026-03-01T00:00:00.000Z')
  })

  test('that could not be written are written the next time', async () => {
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
