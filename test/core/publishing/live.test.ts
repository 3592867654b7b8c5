import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Context, Store } from '../../../src/core/context.ts'
import { createLiveServices, type LiveServices } from '../../../src/core/publishing/live.ts'
import { examineKey } from '../../../src/intake/index.ts'
import { createBulkIntake } from '../../../src/intake/threads/bulk.ts'
import { type TestClock, testClock } from '../../support/app/clock.ts'
import { emptyBlocklist } from '../../support/keys/intake.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import {
  createProject,
  limits,
  openTestStore,
  origin,
  type TestStore,
} from '../../support/store/store.ts'

/**
 * The real store behind a line that can be held up, as that to a database far away can be: `hold`
 * delays the answers to what is asked from then on, until the function that it answers is called.
 */
function slowly(store: Store): { store: Store; hold(): () => void; releaseAll(): void } {
  const releases: (() => void)[] = []
  let gate: Promise<void> = Promise.resolve()
  const late =
    <Arguments extends unknown[], Result>(call: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      const held = gate
      const result = await call(...given)
      await held
      return result
    }
  return {
    store: {
      ...store,
      findProject: late(store.findProject),
      heads: late(store.heads),
      keySet: late(store.keySet),
      published: { heads: late(store.heads), keySet: late(store.published.keySet) },
      events: late(store.events),
      findApiKey: late(store.findApiKey),
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      releases.push(resolve)
      return resolve
    },
    releaseAll: () => {
      for (const release of releases) release()
    },
  }
}

let opened: TestStore
let clock: TestClock
let line: ReturnType<typeof slowly>
let live: LiveServices
let projectId: string
let kid: string
let projects = 0
beforeAll(async () => {
  opened = await openTestStore()
})
afterAll(() => opened.dispose())
beforeEach(async () => {
  clock = testClock()
  line = slowly(opened.store)
  const context: Context = {
    store: line.store,
    clock,
    config: {
      maxKeysPerProject: 50,
      maxJwksBytes: 51_200,
      jwksMaxAge: 60,
      jwksStaleLimit: 600,
      maxHeldRequests: 10,
      maxEventStreams: 10,
      maxImportKeys: 10,
      publicUrl: 'https://keys.example.com',
    },
    examine: async (text, name) => examineKey(text, name, emptyBlocklist),
    bulk: createBulkIntake({ examine: async () => [], sharedPrimes: async () => [] }, 1),
  }
  live = createLiveServices(context)
  projectId = (await createProject(opened.store, `payments-${++projects}`)).id
  const key = keyRecord(projectId)
  kid = key.id
  await live.context.store.commit({ type: 'key.create', origin: origin(), key, limits })
})
afterEach(() => {
  line.releaseAll()
  live.close()
})

const published = async () => (await live.publisher.published(projectId)).jwks.body.toString()
const toggle = (active: boolean, store = live.context.store) =>
  store.commit({
    type: 'key.update',
    origin: origin(),
    projectId,
    kid,
    patch: { active },
    limits,
  })

describe('a database that does not answer', () => {
  test('delays the last good documents by no more than half a second, and then not at all', async () => {
    const good = await published()
    clock.advance(500)
    line.hold()
    const began = performance.now()
    expect(await published()).toBe(good)
    expect(performance.now() - began).toBeLessThan(1_000)
    for (let i = 0; i < 20; i += 1) {
      clock.advance(500)
      expect(await published()).toBe(good)
    }
    expect(performance.now() - began).toBeLessThan(1_000)
    clock.advance(600_000)
    await expect(published()).rejects.toMatchObject({ code: 'storage_unavailable' })
    line.releaseAll()
    await toggle(false)
    expect(await published()).toBe('{"keys":[]}')
  })

  test('does not keep held requests beyond their time', async () => {
    const present = await live.publisher.published(projectId)
    const place = live.keySets.wait(present, present.jwks.etag, 5_000)
    line.hold()
    await delay(300)
    clock.advance(5_000)
    const answer = await Promise.race([place?.result, delay(1_500)])
    expect(answer?.jwks.etag).toBe(present.jwks.etag)
    expect(live.keySets.count()).toBe(0)
  })

  test('does not silence event streams', async () => {
    let beats = 0
    const ends: string[] = []
    live.events.open(projectId, 2, {
      send: () => true,
      heartbeat: () => {
        beats += 1
      },
      permission: async () => ({}),
      end: (how) => ends.push(how),
    })
    line.hold()
    await delay(300)
    clock.advance(15_000)
    await delay(600)
    expect([beats, ends]).toEqual([1, []])
    live.events.close()
    expect(ends).toEqual(['complete'])
    expect(live.events.count()).toBe(0)
  })
})

test('a look that a change overtakes neither serves later requests nor replaces what they got', async () => {
  const before = await published()
  clock.advance(500)
  const releaseOld = line.hold()
  const early = published()
  await delay(10)
  const releaseNew = line.hold()
  await toggle(false)
  const later = published()
  await delay(10)
  releaseNew()
  expect(await later).toBe('{"keys":[]}')
  releaseOld()
  expect(await early).toBe(before)
  await delay(10)
  expect(await published()).toBe('{"keys":[]}')
})

test('a request that is held with an older state than the group has seen is answered', async () => {
  const old = await live.publisher.published(projectId)
  await toggle(false)
  const now = await live.publisher.published(projectId)
  const first = live.keySets.wait(now, now.jwks.etag, 60_000)
  // It saw the old state an instant before the change, and joins those that know the new one.
  const late = live.keySets.wait(old, old.jwks.etag, 60_000)
  const answer = await Promise.race([late?.result, delay(1_000)])
  expect(answer?.jwks.etag).toBe(now.jwks.etag)
  expect(live.keySets.count()).toBe(1)
  first?.cancel()
  expect(live.keySets.count()).toBe(0)
})

test('another history with the same revision is published as soon as any change', async () => {
  expect(await published()).not.toBe('{"keys":[]}')
  // A fail-over lost changes of the old primary: another change has their revision now.
  await opened.database.query('UPDATE jwt_key SET enabled = 0')
  await opened.database.query('UPDATE ledger SET hash = ?', 'f'.repeat(64))
  clock.advance(1_000)
  expect(await published()).toBe('{"keys":[]}')
})

test('a project that is renamed is gone under its old name at once', async () => {
  expect(await live.names.resolve({ name: `payments-${projects}` })).toBe(projectId)
  await live.context.store.commit({
    type: 'project.rename',
    origin: origin(),
    projectId,
    name: 'payouts',
  })
  await expect(live.names.resolve({ name: `payments-${projects}` })).rejects.toMatchObject({
    code: 'project_not_found',
  })
  expect(await live.names.resolve({ name: 'payouts' })).toBe(projectId)
})

test('after close nothing is held, and nothing streams', async () => {
  live.close()
  const present = await live.publisher.published(projectId)
  expect(live.keySets.wait(present, present.jwks.etag, 60_000)).toBeUndefined()
  const sink = {
    send: () => true,
    heartbeat: () => {},
    permission: async () => ({}),
    end: () => {},
  }
  expect(live.events.open(projectId, 0, sink)).toBeUndefined()
})
