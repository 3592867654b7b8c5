import { type KeyUse, summarizeUse } from '@pubring/client'
import { expect, test } from 'vitest'

const now = Date.parse('2026-05-01T15:00:00Z')
const all = { since: '2026-04-01T00:00:00.000Z', interval: 3_600, reporters: 3, silent: 0 }
const seen = (members: Partial<KeyUse>): KeyUse => ({
  ...all,
  lastTime: '2026-05-01T14:56:00.000Z',
  lastReporter: 'orders-api',
  ...members,
})
const silent = { silent: 2, silentSince: '2026-05-01T13:00:00.000Z' }
const past = {
  lastTime: '2026-04-28T14:00:00.000Z',
  lastExp: '2026-04-28T15:00:00.000Z',
}

test.each<[verdict: string, text: string, use: KeyUse | undefined]>([
  ['unknown', 'no verifier reports uses, so it may be in use', undefined],
  [
    'in_use',
    'seen 4 minutes ago by orders-api; its last token ends at 2026-05-01 15:20 UTC',
    seen({ lastExp: '2026-05-01T15:19:30.000Z' }),
  ],
  ['in_use', 'seen 4 minutes ago by orders-api', seen({})],
  [
    'in_use',
    'seen 4 minutes ago by orders-api; 2 verifiers have been silent for 2 hours, so it may be in use',
    seen(silent),
  ],
  [
    'not_reported',
    'seen 3 days ago by orders-api; its last token ended at 2026-04-28 15:00 UTC; no report of it since then by the 3 verifiers that report',
    seen(past),
  ],
  [
    'not_reported',
    'no report of it since 2026-04-01 00:00 UTC by the verifier that reports',
    { ...all, reporters: 1 },
  ],
  [
    'unknown',
    'no report of it since 2026-05-01 14:00 UTC by the 3 verifiers that report, too short a time to tell',
    { ...all, since: '2026-05-01T14:00:00.000Z' },
  ],
  [
    'unknown',
    'no report of it since 2026-04-30 15:00 UTC by the 3 verifiers that report, too short a time to tell',
    { ...all, since: '2026-04-30T15:00:00.000Z', interval: 86_400 },
  ],
  [
    'unknown',
    'seen 4 minutes ago by orders-api; its last token ended at 2026-05-01 14:58 UTC; no report of it since then by the 3 verifiers that report, too short a time to tell',
    seen({ lastExp: '2026-05-01T14:58:00.000Z' }),
  ],
  [
    'unknown',
    'no report of it since 2026-04-01 00:00 UTC by the verifier that reports; 2 verifiers have been silent for 2 hours, so it may be in use',
    { ...all, ...silent, reporters: 1 },
  ],
  [
    'unknown',
    '2 verifiers have been silent for 2 hours, so it may be in use',
    { ...all, ...silent, reporters: 0 },
  ],
])('%s: %s', (verdict, text, use) => {
  expect(summarizeUse(use, now)).toEqual({ verdict, text })
})
