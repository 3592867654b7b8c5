import { expect, test } from 'vitest'
import type { KeySummary } from '../../../packages/server/src/features/keys/stored.ts'
import {
  apiKeyWarnings,
  keyWarnings,
  type ProjectKeys,
} from '../../../packages/server/src/features/warnings/rules.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'

const time = '2026-03-01T00:00:00.000Z'
const inDays = (days: number) => new Date(Date.parse(time) + days * 86_400_000).toISOString()
const projectId = newId()

/** An active key of one signer, with these differences; `days`: until it expires. */
function key({ days, ...members }: Partial<KeySummary> & { days?: number } = {}): KeySummary {
  const expiry = days === undefined ? {} : { expireTime: inDays(days) }
  return {
    id: 'k',
    projectId,
    label: 'n',
    algorithm: 'ES256',
    enabled: true,
    ...expiry,
    ...members,
  }
}

const off = { enabled: false, endTime: time } as const
const voucher = { introducedBy: 'k', id: 'other', label: 'other' }
const byLink = { introducedBy: `link:${newId()}` }
const replaced: ProjectKeys['replacements'] = [{ projectId, id: 'r', fromKid: 'k', toKid: 'other' }]

test.each<[string, KeySummary[], string[]]>([
  ['nothing', [], []],
  ['a key that never expires', [key()], []],
  ['half a day', [key({ days: 0.5 })], ['critical key_expires k']],
  ['a day', [key({ days: 1 })], ['critical key_expires k']],
  ['7 days', [key({ days: 7 })], ['warning key_expires k']],
  ['30 days', [key({ days: 30 })], ['info key_expires k']],
  ['31 days', [key({ days: 31 })], []],
  ['a successor with its label', [key({ days: 5 }), key({ id: 'b' })], []],
  ['one that outlives it', [key({ days: 5 }), key({ id: 'b', days: 60 })], []],
  [
    'one that expires with it',
    [key({ days: 5 }), key({ id: 'b', days: 5 })],
    ['warning key_expires k', 'warning key_expires b'],
  ],
  ['one that is off', [key({ days: 5 }), key({ id: 'b', ...off })], ['warning key_expires k']],
  [
    'one that is compromised',
    [key({ days: 5 }), key({ id: 'b', endReason: 'compromised' })],
    ['warning key_expires k', 'critical key_compromised b'],
  ],
  [
    'one with another label',
    [key({ days: 5 }), key({ id: 'b', label: 'b' })],
    ['warning key_expires k'],
  ],
  ['one that it vouched for', [key({ days: 5 }), key(voucher)], []],
  [
    'one that jwks.json does not have',
    [key({ days: 5 }), key({ id: 'b', algorithm: 'ML-DSA-44' })],
    ['warning key_expires k'],
  ],
  [
    'an ML-DSA key beside one of jwks.json',
    [key({ days: 5, algorithm: 'ML-DSA-44' }), key({ id: 'b' })],
    [],
  ],
  ['no active key', [key(off)], ['warning no_active_key']],
  ['expired keys alone', [key({ days: -1 })], ['warning no_active_key']],
  [
    'none for jwks.json',
    [key(off), key({ id: 'b', algorithm: 'ML-DSA-44' })],
    ['warning no_active_key'],
  ],
  ['a voucher that is off', [key(off), key(voucher)], ['info vouched_keys_active k']],
  ['a voucher that is deleted', [key(voucher)], ['info vouched_keys_active k']],
  ['a vouched key that is off too', [key(), key({ ...voucher, ...off })], []],
  [
    'a key of a link',
    [key({ ...byLink, enabled: false }), key({ id: 'b' })],
    ['warning key_awaits_approval k'],
  ],
  ['one that was activated and has ended', [key({ ...byLink, ...off }), key({ id: 'b' })], []],
])('of %s', (_name, keys, expected) => {
  const found = keyWarnings({ keys, replacements: [] }, time)
  expect(found.map(({ severity, code, kid = '' }) => `${severity} ${code} ${kid}`.trim())).toEqual(
    expected,
  )
})

test('a key that a rotation replaces by an active one does not warn', () => {
  const to = { id: 'other', label: 'other' }
  const codes = (...keys: KeySummary[]) =>
    keyWarnings({ keys, replacements: replaced }, time).map(({ code }) => code)
  expect(codes(key({ days: 5 }), key(to))).toEqual([])
  expect(codes(key({ days: 5 }), key({ ...to, ...off }))).toEqual(['key_expires'])
})

test('an API key warns before it expires, and when nobody uses it', () => {
  const apiKey = { id: 'a', name: 'ci', enabled: true, createTime: inDays(-1), updateTime: time }
  const codes = (members: object) =>
    apiKeyWarnings({ ...apiKey, ...members }, time).map(
      ({ severity, code }) => `${severity} ${code}`,
    )
  expect(codes({})).toEqual([])
  expect(codes({ expireTime: inDays(5) })).toEqual(['warning api_key_expires'])
  expect(codes({ createTime: inDays(-90) })).toEqual(['info api_key_unused'])
  expect(codes({ createTime: inDays(-90), lastUseTime: inDays(-89) })).toEqual([])
  expect(codes({ createTime: inDays(-90), enabled: false })).toEqual([])
})

test('the keys of a large project are not all compared with each other', () => {
  let reads = 0
  const keys: KeySummary[] = Array.from({ length: 1_000 }, () => ({
    ...key({ id: newId() }),
    get expireTime() {
      reads += 1
      return inDays(4)
    },
  }))
  expect(keyWarnings({ keys, replacements: [] }, time)).toHaveLength(1_000)
  expect(reads).toBeLessThan(50_000)
})
