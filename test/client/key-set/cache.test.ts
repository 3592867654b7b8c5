import { expect, test } from 'vitest'
import { createKeySetCache, type KeySetCache } from '../../../packages/client/src/key-set/cache.ts'
import type { KeySetResponse } from '../../../packages/client/src/key-set/fetch.ts'
import { addMs, now } from '../../../packages/client/src/key-set/timestamp.ts'

type SentWith = Partial<Parameters<KeySetCache['store']>[1]>

const keySetOf = (kid: string) => ({ keys: [{ kid, alg: 'ES256', kty: 'EC' }] })

/** A cache of the key a, whose request was sent 100 s ago. */
function start() {
  const cache = createKeySetCache('https://keys.example.com', 30_000)
  const began = addMs(now(), -100_000)
  const store = (response: Partial<KeySetResponse>, sentWith: SentWith = {}) => {
    const headers = { etag: '"a"', head: undefined, contentLocation: undefined }
    const copy = { appliedWait: undefined, age: undefined, maxAge: 60 }
    const sent = { etag: '"a"', version: cache.version(), waitSeconds: 0, ...sentWith }
    cache.store({ ...headers, ...copy, sentAt: began, ...response }, sent)
  }
  store({ body: keySetOf('a'), head: { revision: 4, hashStart: '44444444' } })
  const kids = () => [...(cache.contents()?.entries.keys() ?? [])]
  return {
    began,
    cache,
    store,
    kids,
    confirmedMs: () => (cache.confirmedAt()?.epochMs ?? 0) - began.epochMs,
  }
}

test.each<[string, seconds: number, Partial<KeySetResponse>, SentWith]>([
  ['its request was sent', 70, { body: keySetOf('b') }, {}],
  ['its request was sent, if it is a 304', 70, {}, {}],
  ['its request was sent, if a cache has it no longer than it may', 70, { age: 60 }, {}],
  ['a cache could have it no longer', 50, { body: keySetOf('b'), age: 80 }, {}],
  ['a cache could have it no longer, if it is a 304', 50, { age: 80 }, {}],
  ['the first one, if it confirms another key set', 0, {}, { etag: '"b"' }],
  ['the first one, if it was asked for no key set', 0, {}, { etag: undefined }],
  ['the end of its wait', 95, { appliedWait: 25 }, { waitSeconds: 25 }],
  [
    'its request was sent, if a cache held it',
    70,
    { appliedWait: 25, age: 1 },
    { waitSeconds: 25 },
  ],
  ['its request was sent, if the wait was shorter', 70, { appliedWait: 20 }, { waitSeconds: 25 }],
  ['its request was sent, if it came early', 70, { appliedWait: 60 }, { waitSeconds: 60 }],
])('a response confirms the key set as of when %s', (_name, seconds, response, sentWith) => {
  const { began, store, confirmedMs } = start()
  store({ sentAt: addMs(began, 70_000), ...response }, sentWith)
  expect(confirmedMs()).toBe(seconds * 1_000)
})

test.each<[string, Partial<KeySetResponse>]>([
  [
    'of the earlier revision',
    { head: { revision: 4, hashStart: '44444444' }, body: keySetOf('a') },
  ],
  ['of no revision', { body: keySetOf('a') }],
  ['that confirms the earlier one', {}],
])('a response %s that was sent before the newest brings nothing back', (_name, response) => {
  const { cache, store, kids, confirmedMs } = start()
  const sentWith = { version: cache.version() }
  const head = { revision: 5, hashStart: '55555555' }
  store({ body: keySetOf('b'), etag: '"b"', head })
  store({ sentAt: now(), ...response }, sentWith)
  expect([kids(), cache.contents()?.head, confirmedMs()]).toEqual([['b'], head, 0])
})
