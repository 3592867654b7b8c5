import { expect, test } from 'vitest'
import { findViolation, type History } from '../support/faults/linearizability.ts'

const keys = (record: Record<string, boolean>) => new Map(Object.entries(record))

/** Key A is created from 0 to 10 and deactivated from 20 to 30. */
function history(parts: Partial<History> = {}): History {
  return {
    writes: [
      { kid: 'A', to: 'active', called: 0, answered: 10, requestId: '1' },
      { kid: 'A', to: 'inactive', called: 20, answered: 30, requestId: '2' },
    ],
    lists: [],
    published: [],
    lag: 5,
    ledger: [
      { requestId: '1', kid: 'A', active: true },
      { requestId: '2', kid: 'A', active: false },
    ],
    ...parts,
  }
}

test.each<[string, Partial<History>]>([
  [
    'a list during a change includes it or not',
    {
      lists: [
        { called: 1, answered: 2, keys: keys({}) },
        { called: 3, answered: 4, keys: keys({ A: true }) },
      ],
    },
  ],
  [
    'a JWKS that is older by less than the allowed lag',
    { published: [{ called: 33, answered: 34, keys: keys({ A: true }) }] },
  ],
  [
    'a change without a response that took effect',
    {
      writes: [
        ...history().writes,
        { kid: 'B', to: 'active', called: 5, answered: Number.POSITIVE_INFINITY },
      ],
      ledger: [...history().ledger, { requestId: '3', kid: 'B', active: true }],
    },
  ],
])('possible: %s', (_name, parts) => {
  expect(findViolation(history(parts))).toBeUndefined()
})

test.each<[string, Partial<History>, RegExp]>([
  ['a change that was answered is not there', { ledger: [] }, /lost/],
  [
    'the ledger has a change that no client made',
    { ledger: [...history().ledger, { requestId: '9', kid: 'A', active: true }] },
    /no client made/,
  ],
  [
    'the ledger has two changes in the wrong order',
    { ledger: history().ledger.toReversed() },
    /acknowledged before/,
  ],
  [
    'a list does not show what was answered before',
    { lists: [{ called: 11, answered: 12, keys: keys({}) }] },
    /a list/,
  ],
  [
    'a list shows what has not begun',
    { lists: [{ called: 11, answered: 12, keys: keys({ A: false }) }] },
    /a list/,
  ],
  [
    'a list shows an older state than an earlier list',
    {
      lists: [
        { called: 1, answered: 2, keys: keys({ A: true }) },
        { called: 3, answered: 4, keys: keys({}) },
      ],
    },
    /a list/,
  ],
  [
    'a JWKS is older by more than the allowed lag',
    { published: [{ called: 36, answered: 37, keys: keys({ A: true }) }] },
    /a JWKS/,
  ],
  [
    'a JWKS has a key that never existed',
    { published: [{ called: 1, answered: 2, keys: keys({ B: true }) }] },
    /a JWKS/,
  ],
])('impossible: %s', (_name, parts, reason) => {
  expect(findViolation(history(parts))).toMatch(reason)
})
