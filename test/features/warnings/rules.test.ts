import { expect, test } from 'vitest'
import type { KeySummary } from '../../../packages/server/src/features/keys/stored.ts'
import { keyWarnings } from '../../../packages/server/src/features/warnings/rules.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { keyRecord } from '../../support/store/key-records.ts'

test('the keys of a large project are not all compared with each other', () => {
  const template = keyRecord(newId())
  const time = '2026-03-01T00:00:00.000Z'
  let reads = 0
  const keys: KeySummary[] = Array.from({ length: 1_000 }, () => ({
    ...template,
    id: newId(),
    get expireTime() {
      reads += 1
      return '2026-03-05T00:00:00.000Z'
    },
  }))
  expect(keyWarnings({ keys, replacements: [] }, time)).toHaveLength(1_000)
  expect(reads).toBeLessThan(50_000)
})
