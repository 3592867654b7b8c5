import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jwsAlgorithmNames } from '../../../packages/intake/src/algorithms.ts'
import { eventFeedOf } from '../../../packages/server/src/features/events/feed.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { heldRequestsOf } from '../../../packages/server/src/features/publishing/held-requests.ts'
import {
  type PublishedProject,
  publisherOf,
} from '../../../packages/server/src/features/publishing/publisher.ts'
import { features } from '../../../packages/server/src/features.ts'
import { createReadCaller } from '../../../packages/server/src/kernel/access/callers.ts'
import type { Context, Store } from '../../../packages/server/src/kernel/context.ts'
import { createHooks } from '../../../packages/server/src/kernel/hooks.ts'
import { createKernel, type Kernel } from '../../../packages/server/src/kernel/kernel.ts'
import { type TestClock, testClock } from '../../support/app/clock.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'
import { expectWithin } from '../../support/timing.ts'

/**
 * The real store with results that can be delayed, as by a slow network: `hold` delays those of
 * later calls until the function that it returns is called.
 */
function delayable(store: Store): { store: Store; hold(): () => void; releaseAll(): void } {
  const releases: (() => void)[] = []
  let gate: Promise<void> = Promise.resolve()
  const late =
    <Arguments extends unknown[], Result>(call: (...values: Arguments) => Promise<Result>) =>
    async (...values: Arguments): Promise<Result> => {
      const held = gate
      const result = await call(...values)
      await held
      return result
    }
  return {
    store: {
      ...store,
      identifyProject: late(store.identifyProject),
      heads: late(store.heads),
      followHeads() {
        const follower = store.followHeads()
        return { ...follower, read: late(follower.read) }
      },
      published: {
        heads: late(store.heads),
        newest: late(store.published.newest),
      },
      reader: observedReads(store.reader, { read: () => gate }),
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

let clock: TestClock
let delayed: ReturnType<typeof delayable>
let kernel: Kernel
let projectId: string
let kid: string
let projects = 0

const opened = await openTestStore()

beforeEach(async () => {
  clock = testClock()
  delayed = delayable(opened.store)
  const context: Context = {
    store: delayed.store,
    clock,
    config: {
      algorithms: jwsAlgorithmNames,
      maxKeysPerProject: 50,
      maxJwksBytes: 51_200,
      jwksMaxAge: 60,
      jwksStaleLimit: 600,
      logWitnesses: [],
      publicUrl: 'https://keys.example.com',
      returnOrigins: [],
      sessionLifetime: 43_200,
    },
    intakeFor() {
      throw new Error('publishing examines no keys')
    },
    fetch() {
      throw new Error('publishing fetches nothing')
    },
  }
  kernel = createKernel(context, createReadCaller(features), createHooks([]))
  projectId = (await createProject(opened.store, `payments-${++projects}`)).id
  const key = keyRecord(projectId)
  kid = key.id
  await kernel.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
})
afterEach(() => {
  delayed.releaseAll()
  kernel.close()
})

const published = async () => (await publisherOf(kernel).published(projectId)).jwks.body.toString()
const hold = (latest: PublishedProject, waitMs = 60_000) =>
  heldRequestsOf(kernel).wait(
    {
      ref: { id: projectId },
      keySet: 'jwks',
      ifNoneMatch: new Set([latest.jwks.etag]),
      address: 'x',
    },
    latest,
    waitMs,
  )
/** Resolves when this many more looks at the store have been made, or wait for it. */
const looks = (count: number) =>
  new Promise<void>((resolve) => {
    let left = count
    kernel.watch.onRead(() => {
      left -= 1
      if (left === 0) resolve()
    })
  })
const from = (revision: number) => ({
  ...{ ledgerId: projectId, after: { revision }, callerId: 'x' },
  permission: async () => ({}),
})
const change = () => ({ origin: origin(), projectId, kid, limits })
const toggle = (active: boolean, store = kernel.store) =>
  store.commit(keyChanges.updateKey, { ...change(), patch: { active } })

describe('an unresponsive database', () => {
  test('the last good documents are served within half a second, and without delay after that', async () => {
    const good = await published()
    clock.advance(500)
    delayed.hold()
    const began = performance.now()
    expect(await published()).toBe(good)
    expectWithin(1_000, performance.now() - began)
    for (let i = 0; i < 20; i += 1) {
      clock.advance(500)
      expect(await published()).toBe(good)
    }
    expectWithin(1_000, performance.now() - began)
    clock.advance(600_000)
    await expect(published()).rejects.toMatchObject({ code: 'storage_unavailable' })
    delayed.releaseAll()
    await toggle(false)
    expect(await published()).toContain('no-active-key')
  })

  test('held requests are answered at their deadline', async () => {
    const present = await publisherOf(kernel).published(projectId)
    const place = hold(present, 5_000)
    delayed.hold()
    await looks(1)
    clock.advance(5_000)
    const answer = await place?.result
    expect(answer?.jwks.etag).toBe(present.jwks.etag)
    expect(heldRequestsOf(kernel).count()).toBe(0)
  })

  test('held requests are answered when a key expires', async () => {
    const expireTime = new Date(clock.now() + 10_000).toISOString()
    await kernel.store.commit(keyChanges.updateKey, { ...change(), patch: { expireTime } })
    const present = await publisherOf(kernel).published(projectId)
    delayed.hold()
    const place = hold(present, 600_000)
    await looks(1)
    clock.advance(10_000)
    const answer = await place?.result
    expect(answer?.jwks.body.toString()).not.toContain(kid)
  })

  test('event streams still send heartbeats', async () => {
    const stream = eventFeedOf(kernel).open(from(2))
    if (typeof stream === 'string') throw new Error(stream)
    delayed.hold()
    await looks(1)
    clock.advance(15_000)
    await looks(2)
    kernel.close()
    expect((await Array.fromAsync(stream.body)).join('')).toBe('retry: 2000\n\n:\n\n')
    expect(eventFeedOf(kernel).count()).toBe(0)
  })
})

test('a read that a change supersedes neither serves later requests nor replaces their result', async () => {
  const before = await published()
  clock.advance(500)
  const releaseOld = delayed.hold()
  const early = published()
  await delay(10)
  const releaseNew = delayed.hold()
  await toggle(false)
  const later = published()
  await delay(10)
  releaseNew()
  expect(await later).toContain('no-active-key')
  releaseOld()
  expect(await early).toBe(before)
  await delay(10)
  expect(await published()).toContain('no-active-key')
})

test('a held request that has an older key set than the others is answered', async () => {
  const old = await publisherOf(kernel).published(projectId)
  await toggle(false)
  const now = await publisherOf(kernel).published(projectId)
  const first = hold(now)
  // It saw the old state just before the change, and joins requests that have the new one.
  const late = hold(old)
  const answer = await late?.result
  expect(answer?.jwks.etag).toBe(now.jwks.etag)
  expect(heldRequestsOf(kernel).count()).toBe(1)
  first?.cancel()
  expect(heldRequestsOf(kernel).count()).toBe(0)
})

test('another history with the same revision is published as soon as any change', async () => {
  expect(await published()).not.toContain('no-active-key')
  // A fail-over lost changes of the old primary, and another change got their revision.
  await opened.database.query('UPDATE jwt_key SET enabled = 0')
  await opened.database.query("UPDATE published_key_set SET jwks = ''")
  await opened.database.query('UPDATE ledger SET hash = ?', 'f'.repeat(64))
  clock.advance(1_000)
  expect(await published()).toContain('no-active-key')
})

test('after close no request is held and no stream opens', async () => {
  kernel.close()
  const present = await publisherOf(kernel).published(projectId)
  expect(hold(present)).toBeUndefined()
  expect(eventFeedOf(kernel).open(from(0))).toBe('full')
})
