import { expect, test } from 'vitest'
import { findViolation, type History } from '../support/faults/linearizability.ts'

const keys = (record: Record<string, boolean>) => new Map(Object.entries(record))

/** A is created from 0 to 10 and switched off from 20 to 30. */
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
    'a list during a change shows it or not',
    {
      lists: [
        { called: 1, answered: 2, keys: keys({}) },
        { called: 3, answered: 4, keys: keys({ A: true }) },
      ],
    },
  ],
  [
    'a JWKS that is behind by less than it may',
    { published: [{ called: 33, answered: 34, keys: keys({ A: true }) }] },
  ],
  [
    'a change without an answer that took place',
    {
      writes: [
        ...history().writes,
        { kid: 'B', to: 'active', called: 5, answered: Number.POSITIVE_INFINITY },
      ],
      ledger: [...history().ledger, { requestId: '3', kid: 'B', active: true }],
    },
  ],
])('can have happened: %s', (_name, parts) => {
  expect(findViolation(history(parts))).toBeUndefined()
})

test.each<[string, Partial<History>, RegExp]>([
  ['a change that was answered is not there', { ledger: [] }, /lost/],
  [
    'the ledger has a change that nobody made',
    { ledger: [...history().ledger, { requestId: '9', kid: 'A', active: true }] },
    /nobody made/,
  ],
  [
    'the ledger has two changes the other way round',
    { ledger: history().ledger.toReversed() },
    /answered before/,
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
    'a list shows less than the one before it',
    {
      lists: [
        { called: 1, answered: 2, keys: keys({ A: true }) },
        { called: 3, answered: 4, keys: keys({}) },
      ],
    },
    /a list/,
  ],
  [
    'a JWKS is behind by more than it may',
    { published: [{ called: 36, answered: 37, keys: keys({ A: true }) }] },
    /a JWKS/,
  ],
  [
    'a JWKS has a key that never was',
    { published: [{ called: 1, answered: 2, keys: keys({ B: true }) }] },
    /a JWKS/,
  ],
])('cannot have happened: %s', (_name, parts, reason) => {
  expect(findViolation(history(parts))).toMatch(reason)
})
